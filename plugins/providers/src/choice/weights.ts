export const COMPONENTS = ['efficiency', 'precision', 'latency', 'availability', 'balance', 'mobile'] as const
export type Component = (typeof COMPONENTS)[number]
export type Weights = Readonly<Record<Component, number>>

export const DEFAULT_WEIGHTS: Weights = {
  efficiency: 25,
  precision: 30,
  latency: 20,
  availability: 20,
  balance: 5,
  mobile: 0
}

const ALIASES: Readonly<Record<string, Component>> = { cost: 'efficiency', quality: 'precision', speed: 'latency' }
const MAX_WEIGHT = 255

/** Reads weights such as `efficiency=40,speed=10`. Invalid parts are ignored; missing ones keep their default. */
export function parseWeights(text: string): Weights {
  const weights: Record<Component, number> = { ...DEFAULT_WEIGHTS }
  for (const part of text.split(',')) {
    const [name = '', value = ''] = part.split('=').map(each => each.trim())
    const lower = name.toLowerCase()
    const component =
      COMPONENTS.find(each => each === lower) ?? (Object.hasOwn(ALIASES, lower) ? ALIASES[lower] : undefined)
    if (component !== undefined && /^\d{1,3}$/.test(value) && Number(value) <= MAX_WEIGHT)
      weights[component] = Number(value)
  }
  return weights
}

export interface Situation {
  /** 1 to 10. */
  readonly complexity: number
  readonly costPreference: 'performance' | 'economy' | null
}

/** Returns the weights for a request: hard ones need a better model, easy ones a cheap and fast one. */
export function weightsFor(weights: Weights, { complexity, costPreference }: Situation): Weights {
  const isHard = complexity >= 8
  const isEasy = complexity <= 3
  return {
    ...weights,
    efficiency: weights.efficiency + (isEasy ? 10 : 0) + (costPreference === 'economy' ? 15 : 0),
    precision: weights.precision + (isHard ? 10 : 0) + (costPreference === 'performance' ? 12 : 0),
    latency: weights.latency + (isEasy ? 5 : 0)
  }
}
