import { FrontMatterError, readFrontMatter } from '@svc/contracts/front-matter'
import { publicationErrors } from '../errors.ts'

export interface SplitText {
  /** Null if the file has no front matter. */
  readonly fields: Readonly<Record<string, unknown>> | null
  /** Text after the front matter, without empty lines at its beginning. */
  readonly body: string
  /** Line of the file in which the body begins. */
  readonly bodyLine: number
  /** Returns the line of a field of the front matter. */
  lineOf(field: string): number
}

/** Splits a Markdown file into the fields of its front matter and its body. Throws `PUB_FILE_INVALID` with the line. */
export function splitFrontMatter(text: string, file: string): SplitText {
  try {
    const found = readFrontMatter(text)
    if (found === null) return { fields: null, body: text.replace(/^\ufeff/, ''), bodyLine: 1, lineOf: () => 1 }
    const [gap = ''] = /^(?:\r?\n)*/.exec(found.body) ?? []
    return {
      fields: found.value,
      body: found.body.slice(gap.length),
      bodyLine: found.bodyLine + gap.split('\n').length - 1,
      lineOf: field => found.lineOf([field])
    }
  } catch (error) {
    if (error instanceof FrontMatterError) throw refuse(file, error.line, error.message, error.hint)
    throw error
  }
}

export function refuse(file: string, line: number, problem: string, hint?: string): Error {
  return publicationErrors.create('PUB_FILE_INVALID', `${file}:${line}: ${problem}`, {
    at: { file, line },
    ...(hint === undefined ? {} : { hint })
  })
}
