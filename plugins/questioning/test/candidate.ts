import type { QuestionCandidate } from '@svc/contracts'

/** Returns a question that is worth asking, with the passed changes. */
export function candidate(change: Partial<QuestionCandidate> = {}): QuestionCandidate {
  return {
    session_id: 's',
    surface: 'svc_plan',
    kind: 'open_ended',
    prompt: 'which port?',
    expected_information_gain_bits: 0.5,
    expected_user_cost: 0.25,
    confidence: 0.4,
    channel: 'plan',
    ...change
  }
}

export const choice = (change: Partial<QuestionCandidate> = {}): QuestionCandidate =>
  candidate({
    kind: 'multiple_choice',
    prompt: 'which database?',
    options: [
      { id: 'a', label: 'SQLite', prior: 0.6 },
      { id: 'b', label: 'Postgres', prior: 0.2 },
      { id: 'c', label: 'Another', prior: 0.2, other: true }
    ],
    ...change
  })
