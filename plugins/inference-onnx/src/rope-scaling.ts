import type { ConfigFields } from './config-fields.ts'
import type { Rope } from './rope.ts'

export interface ScalingInput {
  /** Configuration of the scaling. */
  readonly parameters: ConfigFields
  readonly base: number
  /** Inverse frequencies without scaling. */
  readonly frequencies: readonly number[]
  /** `max_position_embeddings`. */
  readonly positions: number
  /** Context length before the extension, in positions. */
  readonly original: number
}

/** Extends a rotary embedding beyond the positions of the original training. */
export type RopeScaling = (input: ScalingInput) => { readonly rope: Rope; readonly contextLength: number }

/** Scalings by `rope_type`. */
export const scalings: Readonly<Record<string, RopeScaling>> = { linear, dynamic, llama3, yarn, longrope }

/** Divides all positions by `factor`. */
function linear({ parameters, frequencies, positions }: ScalingInput) {
  const factor = parameters.number('factor')
  return { rope: fixed(frequencies.map(frequency => frequency / factor)), contextLength: positions }
}

/**
 * Applies no scaling. `dynamic` raises the base for sequences longer than `max_position_embeddings`, but keys that are
 * already cached have the old base. So the context ends at that length.
 */
function dynamic({ frequencies, positions }: ScalingInput) {
  return { rope: fixed(frequencies), contextLength: positions }
}

/**
 * Divides low frequencies by `factor`, with a smooth transition between `low_freq_factor` and `high_freq_factor` (Llama
 * 3.1 model card).
 */
function llama3({ parameters, frequencies, positions, original }: ScalingInput) {
  const factor = parameters.number('factor')
  const low = parameters.number('low_freq_factor')
  const high = parameters.number('high_freq_factor')
  const scaled = frequencies.map(frequency => {
    const turns = (original * frequency) / (2 * Math.PI)
    if (turns < low) return frequency / factor
    if (turns > high) return frequency
    const smooth = (turns - low) / (high - low)
    return (1 - smooth) * (frequency / factor) + smooth * frequency
  })
  return { rope: fixed(scaled), contextLength: positions }
}

/**
 * Keeps frequencies with more than `beta_fast` turns in the original context, divides those with fewer than `beta_slow`
 * turns by `factor`, and interpolates between them (https://arxiv.org/abs/2309.00071).
 */
function yarn({ parameters, base, frequencies, positions, original }: ScalingInput) {
  const factor = parameters.number('factor', positions / original)
  const pairs = frequencies.length
  const pairOf = (turns: number) => (pairs * Math.log(original / (turns * 2 * Math.PI))) / Math.log(base)
  const fast = pairOf(parameters.number('beta_fast', 32))
  const slow = pairOf(parameters.number('beta_slow', 1))
  const truncate = parameters.boolean('truncate', true)
  const first = Math.max(truncate ? Math.floor(fast) : fast, 0)
  const last = Math.min(truncate ? Math.ceil(slow) : slow, 2 * pairs - 1)
  const scaled = frequencies.map((frequency, pair) => {
    const share = Math.min(Math.max((pair - first) / (last === first ? 0.001 : last - first), 0), 1)
    return (frequency / factor) * share + frequency * (1 - share)
  })
  const rope = { ...fixed(scaled), magnitude: yarnMagnitude(parameters, factor) }
  return { rope, contextLength: Math.max(positions, Math.floor(original * factor)) }
}

function yarnMagnitude(parameters: ConfigFields, factor: number): number {
  const configured = parameters.optionalNumber('attention_factor')
  if (configured !== null) return configured
  const grown = (weight: number) => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1)
  const [one, all] = [parameters.values.mscale, parameters.values.mscale_all_dim]
  return one && all ? grown(parameters.number('mscale')) / grown(parameters.number('mscale_all_dim')) : grown(1)
}

/**
 * Divides each frequency by a separate factor: `short_factor` for contexts up to the original length, `long_factor`
 * beyond (https://arxiv.org/abs/2402.13753). Cached keys keep their factors, so the choice depends on the context
 * length, not on the sequence length.
 */
function longrope({ parameters, frequencies, positions, original }: ScalingInput) {
  const divide = (name: string) => {
    const factors = parameters.values[name]
    const valid = Array.isArray(factors) && factors.length === frequencies.length && factors.every(isPositive)
    if (!valid) throw parameters.refuse(name, `not a list of ${frequencies.length} numbers above 0`)
    return frequencies.map((frequency, pair) => frequency / factors[pair])
  }
  const factor = parameters.number('factor', positions / original)
  const derived = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original))
  const rope = {
    inverseFrequencies: divide('short_factor'),
    magnitude: parameters.number('attention_factor', derived),
    long: { beyond: original, inverseFrequencies: divide('long_factor') }
  }
  return { rope, contextLength: positions }
}

function fixed(inverseFrequencies: readonly number[]): Rope {
  return { inverseFrequencies, magnitude: 1, long: null }
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}
