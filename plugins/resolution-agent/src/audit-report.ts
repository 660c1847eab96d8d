import { type AskedQuestion, type TaskView, taskLabel } from '@svc/contracts'
import { type Outcome, reasonOf, short } from './doubt-question.ts'

const MAX_TEXT = 4_000

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  validated: 'validated: the task continues',
  overruled: 'overruled: the task is complete'
}

/** Returns the audit report of a doubt that a person has answered: what was doubted, asked, answered and done. */
export function auditReport(task: TaskView, question: AskedQuestion, outcome: Outcome): string {
  const { answer } = question
  const files = task.files.map(({ path }) => path).join(', ')
  return [
    `${taskLabel(task.id)}: ${short(task.description, MAX_TEXT)}`,
    `Doubt: ${short(reasonOf(task), MAX_TEXT)}`,
    ...(files === '' ? [] : [`Files: ${short(files, MAX_TEXT)}`]),
    `Asked at ${timeOf(question.asked_at_ms)} as ${question.question_id}`,
    `Answered at ${timeOf(answer?.at_ms ?? 0)} by a person: ${short(answer?.text ?? '', MAX_TEXT)}`,
    `Outcome: ${OUTCOMES[outcome]}`
  ].join('\n')
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
