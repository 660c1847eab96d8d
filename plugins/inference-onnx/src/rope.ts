import type { ConfigFields } from './config-fields.ts'
import { inferenceErrors } from './errors.ts'

/** Elements of one table: both lie inside of the model, which protobuf limits to 2 GiB. */
const MAX_TABLE = 2 ** 27

/** Rotary position embedding. */
export interface Rope {
  /** Inverse frequencies, one per pair of dimensions, scaling applied. */
  readonly inverseFrequencies: readonly number[]
}

/**
 * Reads `rope_theta` with `rope_scaling`, or the newer `rope_parameters` that holds both.
 *
 * Known kinds: `default`, `linear` (positions divided by `factor`) and `llama3` (low frequencies divided by `factor`,
 * with a smooth passage between `low_freq_factor` and `high_freq_factor`; Llama 3.1 model card).
 */
export function parseRope(fields: ConfigFields, headSize: number): Rope {
  const parameters = object(fields.values.rope_parameters) ?? object(fields.values.rope_scaling) ?? {}
  const theta = positive(fields, 'rope_theta', parameters.rope_theta ?? fields.values.rope_theta ?? 10000)
  const partial = parameters.partial_rotary_factor ?? fields.values.partial_rotary_factor ?? 1
  if (partial !== 1) throw fields.unsupported('partial_rotary_factor', partial, '1')
  const frequencies = Array.from({ length: headSize / 2 }, (_, pair) => theta ** ((-2 * pair) / headSize))
  const kind = parameters.rope_type ?? parameters.type ?? 'default'
  if (kind === 'default') return { inverseFrequencies: frequencies }
  const get = (name: string) => positive(fields, `rope_parameters.${name}`, parameters[name])
  if (kind === 'linear') {
    const factor = get('factor')
    return { inverseFrequencies: frequencies.map(frequency => frequency / factor) }
  }
  if (kind !== 'llama3') throw fields.unsupported('rope_type', kind, 'default, linear, llama3')
  return { inverseFrequencies: scaleLlama3(frequencies, get) }
}

function scaleLlama3(frequencies: readonly number[], get: (name: string) => number): number[] {
  const [factor, low, high] = [get('factor'), get('low_freq_factor'), get('high_freq_factor')]
  const original = get('original_max_position_embeddings')
  return frequencies.map(frequency => {
    const turns = (original * frequency) / (2 * Math.PI)
    if (turns < low) return frequency / factor
    if (turns > high) return frequency
    const smooth = (turns - low) / (high - low)
    return (1 - smooth) * (frequency / factor) + smooth * frequency
  })
}

/**
 * Cosines and sines of every position: two tables of shape `[positions, headSize / 2]`.
 *
 * Throws `INF_OUT_OF_MEMORY` when they would not fit into a model. Frequencies and angles are rounded to single precision first, since that is what the models were trained with.
 */
export function rotaryTables(rope: Rope, positions: number): { cos: Float32Array; sin: Float32Array } {
  const pairs = rope.inverseFrequencies.length
  if (positions * pairs > MAX_TABLE) {
    throw inferenceErrors.create(
      'INF_OUT_OF_MEMORY',
      `The rotary tables of a context of ${positions} tokens are too large for a model file`,
      { data: { positions }, hint: 'Load the model with a smaller maxContext.' }
    )
  }
  const cos = new Float32Array(positions * pairs)
  const sin = new Float32Array(positions * pairs)
  for (let position = 0; position < positions; position++) {
    for (let pair = 0; pair < pairs; pair++) {
      const angle = Math.fround(position * Math.fround(rope.inverseFrequencies[pair] as number))
      cos[position * pairs + pair] = Math.cos(angle)
      sin[position * pairs + pair] = Math.sin(angle)
    }
  }
  return { cos, sin }
}

function object(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

function positive(fields: ConfigFields, name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw fields.refuse(name, `${JSON.stringify(value)} is not a number above 0`)
}
