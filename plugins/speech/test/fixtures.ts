import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const FIXTURES = join(import.meta.dirname, 'fixtures')

export function fixtureJson<A>(name: string): A {
  return JSON.parse(readFileSync(join(FIXTURES, name), 'utf8')) as A
}

/** Reads a file of little-endian float32 values. */
export function fixtureFloats(name: string): Float32Array {
  const bytes = readFileSync(join(FIXTURES, name))
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
}

/** Returns the samples of the fixture recording. */
export function tones(): Float32Array {
  const bytes = readFileSync(join(FIXTURES, 'tones.wav')).subarray(44)
  return Float32Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readInt16LE(2 * at) / 32_768)
}
