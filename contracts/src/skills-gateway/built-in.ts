import { point } from '@svc/plugin-sdk'

/** Trusted skills of plugins, which run in the process of svc without an approval. */
export const builtInSkills = point<BuiltInSkill>('skills.built-in', { keys: skill => [`skill ${skill.slug}`] })

export interface BuiltInSkill {
  /** Unique name, `NAME` or `OWNER/NAME`. Precedes an installed skill of the same name. */
  readonly slug: string
  readonly version: string
  readonly description: string
  /** Markdown. */
  readonly text: string
  /** Runs the skill with the caller's input and returns text. Absent: the skill is a document. */
  run?(input: string, signal: AbortSignal): Promise<string>
}
