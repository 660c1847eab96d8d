import { parse as parseToml, TomlError } from 'smol-toml'
import { LineCounter, parseAllDocuments } from 'yaml'

/** Problem of a text. Lines and columns are counted from 1; null if the checker reports none. */
export interface Problem {
  readonly line: number | null
  readonly column: number | null
  readonly severity: 'error' | 'warning'
  readonly message: string
}

const PARSERS = { json, toml, yaml } as const satisfies Readonly<Record<string, (text: string) => readonly Problem[]>>

export type ParsedLanguage = keyof typeof PARSERS

/** Maximum problems in an answer. */
export const MAX_PROBLEMS = 200

/** Parses a text; returns the first problems, errors before warnings. */
export function syntaxProblems(language: ParsedLanguage, text: string): readonly Problem[] {
  const problems = PARSERS[language](text)
  const of = (wanted: Problem['severity']) => problems.filter(({ severity }) => severity === wanted)
  return [...of('error'), ...of('warning')].slice(0, MAX_PROBLEMS)
}

function json(text: string): readonly Problem[] {
  try {
    JSON.parse(text)
    return []
  } catch (error) {
    const { message } = error as Error
    const position = /position (\d+)/.exec(message)?.[1]
    return [{ ...placeAt(text, position === undefined ? text.length : Number(position)), severity: 'error', message }]
  }
}

function toml(text: string): readonly Problem[] {
  try {
    parseToml(text)
    return []
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [message = ''] = error.message.split('\n')
    return [{ line: error.line, column: error.column, severity: 'error', message }]
  }
}

function yaml(text: string): readonly Problem[] {
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
  if (!Array.isArray(documents)) return []
  return documents.flatMap(({ errors, warnings }) =>
    [...errors, ...warnings].map(({ name, message, pos }) => {
      const { line, col } = lines.linePos(pos[0])
      return {
        line,
        column: col,
        severity: name === 'YAMLWarning' ? ('warning' as const) : ('error' as const),
        message
      }
    })
  )
}

function placeAt(text: string, offset: number): Pick<Problem, 'line' | 'column'> {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 }
}
