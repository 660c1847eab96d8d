import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Vectors } from '@svc/contracts'

/** Components that are written without a pause. */
const SLICE = 32_768

/** Returns one vector. */
export function vectorAt({ values, dimensions }: Vectors, index: number): Float32Array {
  return values.subarray(index * dimensions, (index + 1) * dimensions)
}

/** Yields a JSON text with an entry for each vector, so that a large reply does not block other work. */
export async function* jsonRows(
  vectors: Vectors,
  [head, tail]: readonly [head: string, tail: string],
  entry: (vector: Float32Array, index: number) => string
): AsyncGenerator<string, void> {
  let written = 0
  yield head
  for (let index = 0; index < vectors.count; index++) {
    yield `${index === 0 ? '' : ','}${entry(vectorAt(vectors, index), index)}`
    written += vectors.dimensions
    if (written < SLICE) continue
    written = 0
    await nextTurn()
  }
  yield tail
}

/** Returns a vector as a JSON list. */
export function jsonList(vector: Float32Array): string {
  return `[${vector.join(',')}]`
}
