import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'
import { planningErrors } from '../errors.ts'
import type { PlanTask } from '../plan-task.ts'

export interface DocumentedPlan {
  readonly goal: string
  readonly summary: string
  readonly tasks: readonly PlanTask[]
  readonly questions: readonly string[]
}

/** Formats a plan as Markdown. */
export function planDocument({ goal, summary, tasks, questions }: DocumentedPlan): string {
  const steps = tasks.flatMap(task => [
    `${task.id}. ${task.description}`,
    ...[
      ['files', task.files.map(file => `\`${file}\``).join(', ')],
      ['after', task.depends_on.join(', ')],
      ['needs', task.preconditions.join('; ')],
      ['test', task.test_decision ?? '']
    ].flatMap(([name, value]) => (value === '' ? [] : [`   - ${name}: ${value}`]))
  ])
  const open = questions.length === 0 ? [] : ['', '## Open questions', '', ...questions.map(each => `- ${each}`)]
  return `${['# Plan', '', summary, '', '## Goal', '', goal.trim(), '', '## Steps', '', ...steps, ...open].join('\n')}\n`
}

/** Writes `PLAN.md` atomically into the project folder. A symbolic link of that name is replaced, not followed. */
export async function writePlanFile(projectRoot: string, text: string): Promise<string> {
  const file = join(projectRoot, 'PLAN.md')
  const part = join(projectRoot, `.PLAN.md.${randomUUID()}`)
  try {
    await writeFile(part, text, { flag: 'wx' })
    await rename(part, file)
  } catch (cause) {
    await rm(part, { force: true })
    const reason = errorMessage(cause)
    throw planningErrors.create('PLN_FILE_REFUSED', `${file} could not be written: ${reason}`, {
      cause,
      hint: 'make the project folder writable, or omit write_to_disk'
    })
  }
  return file
}
