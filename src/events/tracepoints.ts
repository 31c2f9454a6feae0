/** Tracepoints of the kernel, as its file system for tracing describes them. */
import { readdirSync, readFileSync } from "node:fs";
import { EVENT_TRACEPOINT } from "../../build/abi.ts";
import type { Addon } from "../addon/binding.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import { EXIT_CANNOT, UserError } from "../tick/errors.ts";
import type { EventRequest } from "../tick/event-request.ts";
import { didYouMean } from "./closest.ts";

/** A field of a tracepoint's record: `field:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;` */
const FIELD =
  /field:(?<type>[^;]*?)(?<name>\w+)(?:\[[^;]*\])?;\s*offset:(?<offset>\d+);\s*size:(?<size>\d+);\s*signed:(?<signed>\d)/g;

/** Sizes of fields that are numbers. */
const NUMBER_SIZES = [1, 2, 4, 8];

/** Fields of which the name says that they are bytes. */
const BYTE_FIELDS = /byte|size|^len$|length|bytes_(alloc|req)/;

export class Tracepoints {
  readonly #folder: string;

  /** Throws a UserError where there is no file system for tracing. */
  constructor(addon: Addon) {
    try {
      this.#folder = `${addon.openTracing()}/events`;
    } catch (error) {
      const why = (error as Error).message;
      throw new UserError(
        `tracepoints cannot be read: ${why}\nAs root, with CAP_SYS_ADMIN: mount -t tracefs tracefs /sys/kernel/tracing`,
        EXIT_CANNOT,
      );
    }
  }

  /** All of them, as `subsystem:name`. */
  names(): string[] {
    return readdirSync(this.#folder, { withFileTypes: true })
      .filter((one) => one.isDirectory())
      .flatMap(({ name: subsystem }) =>
        readdirSync(`${this.#folder}/${subsystem}`, { withFileTypes: true })
          .filter((one) => one.isDirectory())
          .map(({ name }) => `${subsystem}:${name}`),
      );
  }

  resolve(request: EventRequest & { kind: "tracepoint" }): ResolvedEvent {
    const { text, subsystem, event, field } = request;
    const id = this.#read(`${subsystem}/${event}/id`);
    if (id === undefined) throw new UserError(this.#whyUnknown(subsystem, event), EXIT_CANNOT);
    const weight = field === undefined ? undefined : this.#field(request, field);
    return {
      name: text,
      unit: weight?.unit ?? "events",
      setup: {
        name: text,
        kind: EVENT_TRACEPOINT,
        config: Number(id),
        // Its stack is that of the entry for system calls, whatever the call.
        withoutKernelStack: subsystem === "syscalls",
        ...weight?.setup,
      },
    };
  }

  #read(path: string): string | undefined {
    try {
      return readFileSync(`${this.#folder}/${path}`, "utf8").trim();
    } catch {
      return undefined;
    }
  }

  #whyUnknown(subsystem: string, event: string): string {
    const hint =
      didYouMean(`${subsystem}:${event}`, this.names()) ||
      `\`polytop list events '*${event}*'\` searches them`;
    return `this kernel has no tracepoint ${subsystem}:${event}; ${hint}`;
  }

  #field({ text, subsystem, event }: EventRequest & { kind: "tracepoint" }, wanted: string) {
    const format = this.#read(`${subsystem}/${event}/format`) ?? "";
    const fields = [...format.matchAll(FIELD)].flatMap(({ groups }) => (groups ? [groups] : []));
    const own = fields.filter(({ name = "" }) => !name.startsWith("common_"));
    const found = own.find(({ name }) => name === wanted);
    const size = Number(found?.size);
    if (!found || !NUMBER_SIZES.includes(size)) {
      const names = own.filter((one) => NUMBER_SIZES.includes(Number(one.size)));
      const why = found ? `the field ${wanted} is no number` : `there is no field ${wanted}`;
      const list = names.map(({ name }) => name).join(", ") || "none";
      throw new UserError(`--event ${text}: ${why}; numbers are ${list}`, EXIT_CANNOT);
    }
    return {
      unit: BYTE_FIELDS.test(wanted) ? "bytes" : wanted,
      setup: {
        fieldOffset: Number(found.offset),
        fieldSize: size,
        fieldSigned: found.signed === "1",
      },
    };
  }
}
