import { DOUBT_SESSIONS, type QuestionCandidate, type TaskView, taskLabel } from '@svc/contracts'

export type Outcome = 'validated' | 'overruled'

const MAX_DESCRIPTION = 400
const MAX_REASON = 600

export function sessionOf(task: number): string {
  return `${DOUBT_SESSIONS}${task}`
}

/** Returns the task of a session of {@link sessionOf}; null for other sessions. */
export function taskOf(session: string): number | null {
  const [, digits] = new RegExp(`^${DOUBT_SESSIONS}([1-9][0-9]{0,15})$`).exec(session) ?? []
  return digits === undefined ? null : Number(digits)
}

export function reasonOf({ status }: Pick<TaskView, 'status'>): string {
  return (status.kind === 'Doubted' ? status.reason : null) ?? 'no reason stated'
}

/** Returns the question about a doubted task. An answer in other words counts as right: the task continues with it. */
export function doubtQuestion(task: TaskView): QuestionCandidate {
  return {
    session_id: sessionOf(task.id),
    surface: 'resolution-agent',
    kind: 'multiple_choice',
    prompt: [
      `Is the doubt about the task ${taskLabel(task.id)} right?`,
      `Doubt: ${short(reasonOf(task), MAX_REASON)}`,
      `Task: ${short(task.description, MAX_DESCRIPTION)}`
    ].join('\n'),
    options: [
      { id: 'validated', label: 'The doubt is right: the task continues' },
      { id: 'overruled', label: 'The doubt is wrong: the task is complete' },
      { id: 'instructions', label: 'The task continues, with what I write', other: true }
    ],
    // One of two outcomes, of which neither is more probable.
    expected_information_gain_bits: 1,
    expected_user_cost: 0.2,
    confidence: 0.5,
    high_risk: true,
    channel: 'task_submit'
  }
}

export function short(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1)}…` : text
}
