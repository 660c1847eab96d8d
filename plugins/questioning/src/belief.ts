/** Content of `question_sessions.belief_state_json`. Unknown fields are preserved. */
export interface BeliefState {
  readonly answers: readonly BeliefAnswer[]
  readonly hypothesis_mass: {
    /** Maps question id to option id to probability; the probabilities of one question sum to 1. */
    readonly by_question: Readonly<Record<string, Readonly<Record<string, number>>>>
  }
  readonly last_updated_ms: number
  readonly [field: string]: unknown
}

export interface BeliefAnswer {
  readonly question_id: string
  readonly answer_text: string
  readonly answered_at_ms: number
  readonly selected_option_id?: string
}

export interface OptionMass {
  readonly id: string
  readonly prior: number | null
  readonly posterior: number | null
}

const MAX_GAIN_BITS = 8

/** Parses a stored state. An invalid one becomes empty; nothing is lost, because the rows hold the same data. */
export function readBelief(json: string | null): BeliefState {
  const empty: BeliefState = { answers: [], hypothesis_mass: { by_question: {} }, last_updated_ms: 0 }
  if (json === null) return empty
  try {
    const state = JSON.parse(json) as Partial<BeliefState> | null
    if (typeof state !== 'object' || state === null) return empty
    return {
      ...state,
      answers: Array.isArray(state.answers) ? state.answers : [],
      hypothesis_mass: { by_question: { ...state.hypothesis_mass?.by_question } },
      last_updated_ms: Number(state.last_updated_ms ?? 0)
    }
  } catch {
    return empty
  }
}

/**
 * Returns the probabilities before an answer: the prior of each option, else its posterior, else an equal share, scaled
 * to sum to 1. If all are 0, each gets an equal share.
 */
export function normalisedPriors(options: readonly OptionMass[]): number[] {
  const masses = options.map(({ prior, posterior }) => usable(prior) ?? usable(posterior) ?? 1 / options.length)
  const largest = Math.max(...masses)
  if (largest === 0) return masses.map(() => 1 / options.length)
  // Dividing by the largest first prevents overflow and underflow of the sum.
  return scaled(masses.map(mass => mass / largest))
}

/** Multiplies the selected option's probability by 1 + gain (bits, clamped to [0, 8]) and scales all to sum to 1. */
export function posteriors(options: readonly OptionMass[], selected: string, gainBits: number): number[] {
  const weight = 1 + Math.min(Math.max(gainBits, 0), MAX_GAIN_BITS)
  const priors = normalisedPriors(options)
  return scaled(priors.map((mass, at) => (options[at]?.id === selected ? mass * weight : mass)))
}

/** Returns the state with another answer and, if the answer selected an option, the probabilities of its question. */
export function withAnswer(
  state: BeliefState,
  answer: BeliefAnswer,
  mass: Readonly<Record<string, number>> | null
): BeliefState {
  const { by_question } = state.hypothesis_mass
  return {
    ...state,
    answers: [...state.answers, answer],
    hypothesis_mass: { by_question: mass === null ? by_question : { ...by_question, [answer.question_id]: mass } },
    last_updated_ms: answer.answered_at_ms
  }
}

function usable(mass: number | null): number | null {
  return mass !== null && Number.isFinite(mass) && mass >= 0 ? mass : null
}

function scaled(masses: readonly number[]): number[] {
  const sum = masses.reduce((total, mass) => total + mass, 0)
  return masses.map(mass => mass / sum)
}
