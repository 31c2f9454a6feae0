/** Measurements that are made for each way in which .NET programs come. */
import type { Shape } from "../../support/dotnet.ts";
import { Lacking, type Row } from "../../support/measure.ts";

export type Measurement = (shape: Shape) => Promise<Row[]>;

/** Measures each shape; one that cannot be had leaves the others be. `POLYTOP_SHAPES=installed,net8`: only these. */
export async function each(shapes: readonly Shape[], measurement: Measurement): Promise<Row[]> {
  const rows: Row[] = [];
  const wanted = process.env.POLYTOP_SHAPES?.split(",");
  for (const shape of shapes.filter(({ name }) => wanted?.includes(name) ?? true)) {
    try {
      rows.push(...(await measurement(shape)));
    } catch (error) {
      if (!(error instanceof Lacking)) throw error;
      rows.push({ what: shape.name, bar: "", figure: `skipped: ${error.message}` });
    }
  }
  return rows;
}
