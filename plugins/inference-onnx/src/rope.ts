import type { ConfigFields } from './config-fields.ts'
import { inferenceErrors } from './errors.ts'
import type { FamilyTraits } from './model-families.ts'
import { type RopeScaling, scalings } from './rope-scaling.ts'

/** Maximum elements of a table. Up to four tables are stored in the model, which protobuf limits to 2 GiB. */
const MAX_TABLE = 2 ** 26

/** Rotary position embedding. */
export interface Rope {
  /** Scaled inverse frequencies, one per rotated pair of dimensions; the rest of a head is not rotated. */
  readonly inverseFrequencies: readonly number[]
  /** Factor of cosines and sines. */
  readonly magnitude: number
  /** Alternative frequencies for a context of more than `beyond` positions. */
  readonly long: { readonly beyond: number; readonly inverseFrequencies: readonly number[] } | null
}

export interface Ropes {
  readonly rope: Rope
  /** Rotary embedding of layers with a window; may be the same. */
  readonly windowRope: Rope
  /** Positions that the model supports with scaling. */
  readonly contextLength: number
}

/**
 * Parses `rope_theta` and `rope_scaling`, or the newer `rope_parameters`, which contains both, for each kind of layer.
 *
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for an unknown kind of scaling.
 */
export function parseRope(fields: ConfigFields, traits: FamilyTraits, headSize: number): Ropes {
  const parameters = fields.section('rope_parameters') ?? fields.section('rope_scaling')
  const perLayerType = parameters?.section('full_attention') ?? null
  if (perLayerType !== null && !traits.windowRope) {
    throw fields.unsupported('rope_parameters', Object.keys(parameters?.values ?? {}), 'one set for all layers')
  }
  const main = readRope(fields, perLayerType ?? parameters, traits, headSize, fields.values.rope_theta)
  if (!traits.windowRope) return { ...main, windowRope: main.rope }
  const windowed = parameters?.section('sliding_attention') ?? null
  const local = readRope(fields, windowed, traits, headSize, fields.values.rope_local_base_freq)
  return { ...main, windowRope: local.rope }
}

function readRope(
  fields: ConfigFields,
  parameters: ConfigFields | null,
  traits: FamilyTraits,
  headSize: number,
  theta: unknown
): { readonly rope: Rope; readonly contextLength: number } {
  const base = positive(parameters ?? fields, 'rope_theta', parameters?.values.rope_theta ?? theta ?? 10_000)
  const share = parameters?.optionalNumber('partial_rotary_factor') ?? fields.number('partial_rotary_factor', 1)
  const rotated = Math.floor(headSize * share)
  if (share > 1 || rotated % 16 !== 0) {
    throw fields.unsupported(
      'partial_rotary_factor',
      share,
      `a fraction that makes the rotated part of head_dim ${headSize} a multiple of 16`
    )
  }
  const frequencies = Array.from({ length: rotated / 2 }, (_, pair) => base ** ((-2 * pair) / rotated))
  const positions = fields.count('max_position_embeddings')
  const kind = parameters?.values.rope_type ?? parameters?.values.type ?? 'default'
  const plain: Rope = { inverseFrequencies: frequencies, magnitude: 1, long: null }
  if (!hasNumbers(plain))
    throw (parameters ?? fields).refuse('rope_theta', `${base} leads to frequencies that are not finite`)
  if (parameters === null || kind === 'default') return { rope: plain, contextLength: positions }
  const name = traits.ropeAliases[`${kind}`] ?? `${kind}`
  const scale: RopeScaling | undefined = Object.hasOwn(scalings, name) ? scalings[name] : undefined
  if (scale === undefined) {
    throw parameters.unsupported('rope_type', kind, ['default', ...Object.keys(scalings)].join(', '))
  }
  const original =
    fields.values.original_max_position_embeddings ?? parameters.values.original_max_position_embeddings ?? positions
  const scaled = scale({
    parameters,
    base,
    frequencies,
    positions,
    original: positive(parameters, 'original_max_position_embeddings', original)
  })
  if (hasNumbers(scaled.rope)) return scaled
  throw parameters.refuse('rope_type', `${kind} with these parameters leads to frequencies that are not finite`)
}

function hasNumbers({ inverseFrequencies, magnitude, long }: Rope): boolean {
  return [...inverseFrequencies, ...(long?.inverseFrequencies ?? []), magnitude].every(Number.isFinite)
}

/**
 * Returns the cosines and sines of every position: two tables of shape `[positions, pairs]`.
 *
 * Frequencies and angles are rounded to single precision first, as in the training of the models. Throws
 * `INF_OUT_OF_MEMORY` if the tables do not fit into a model file.
 */
export function rotaryTables(rope: Rope, positions: number): { cos: Float32Array; sin: Float32Array } {
  const long = rope.long !== null && positions > rope.long.beyond
  const frequencies = (long ? rope.long : rope).inverseFrequencies.map(Math.fround)
  const pairs = frequencies.length
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
      const angle = Math.fround(position * (frequencies[pair] as number))
      cos[position * pairs + pair] = Math.cos(angle) * rope.magnitude
      sin[position * pairs + pair] = Math.sin(angle) * rope.magnitude
    }
  }
  return { cos, sin }
}

function positive(fields: ConfigFields, name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw fields.refuse(name, `${JSON.stringify(value)} is not a number above 0`)
}
