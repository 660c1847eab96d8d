import type { ChatMessage } from '@svc/contracts'
import { bytesWithin } from '../model/room.ts'
import { LANGUAGE_CARD } from './language-card.ts'

const SYSTEM = `You write programs in a small language that you have not seen before.

${LANGUAGE_CARD}
Answer with the source of one whole file and nothing else: no explanation, no Markdown.`

const REPORT_CHARACTERS = 6_000
/** Minimum context in tokens for including the description of the language. */
const ROOMY = 4_096

/** Prompts that request a program, and its repair. */
export class RepairPrompt {
  readonly #prompt: string
  readonly #reportCharacters: number
  #isBrief: boolean

  /**
   * `context`: size in tokens; null if unknown. The brief form is only the request, for models that are fine-tuned for
   * this language, such as the bundled one.
   */
  constructor(prompt: string, context: number | null) {
    this.#prompt = prompt
    this.#reportCharacters = bytesWithin(context, 1 / 8, REPORT_CHARACTERS)
    this.#isBrief = context !== null && context < ROOMY
  }

  /** Switches to the brief form; returns false if the prompt is already brief. */
  shorten(): boolean {
    const could = !this.#isBrief
    this.#isBrief = true
    return could
  }

  messages(rejected: { readonly code: string; readonly report: string } | null): ChatMessage[] {
    return [
      ...(this.#isBrief ? [] : [{ role: 'system' as const, content: SYSTEM }]),
      { role: 'user', content: this.#prompt },
      ...(rejected === null
        ? []
        : [
            { role: 'assistant' as const, content: rejected.code },
            { role: 'user' as const, content: repair(rejected.report.slice(0, this.#reportCharacters)) }
          ])
    ]
  }
}

function repair(report: string): string {
  return `The compiler refuses that program:

${report}
Answer with the corrected source of the whole file and nothing else.`
}
