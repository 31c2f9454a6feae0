/** Holds values against a JSON Schema, as far as the schema of a snapshot goes. */
import type { Schema } from "../../src/output/snapshot-schema.ts";

/** What is wrong with a value, each with its place; none where it fits. */
export function mismatches(value: unknown, schema: Schema, place = "$"): string[] {
  const wrong = (what: string): string[] => [`${place}: ${what}`];
  if (schema.enum) return schema.enum.includes(String(value)) ? [] : wrong(`no ${value}`);
  switch (schema.type) {
    case "array":
      if (!Array.isArray(value)) return wrong("no array");
      return value.flatMap((one, i) => mismatches(one, schema.items ?? {}, `${place}[${i}]`));
    case "object": {
      if (typeof value !== "object" || value === null || Array.isArray(value))
        return wrong("no object");
      const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(value, key));
      return [
        ...missing.flatMap((key) => wrong(`lacks ${key}`)),
        ...Object.entries(value).flatMap(([key, one]) => {
          const other = schema.additionalProperties;
          const known = schema.properties?.[key] ?? (typeof other === "object" ? other : undefined);
          return known ? mismatches(one, known, `${place}.${key}`) : wrong(`has ${key}`);
        }),
      ];
    }
    case "integer":
      return Number.isInteger(value) && Number(value) >= 0 ? [] : wrong("no count");
    case "number":
      return typeof value === "number" && value >= 0 ? [] : wrong("no number from 0 on");
    default:
      return typeof value === schema.type ? [] : wrong(`no ${schema.type}`);
  }
}
