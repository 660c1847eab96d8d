import { parse as parseToml, TomlError } from 'smol-toml'
import { Composer, Lexer, LineCounter, Parser } from 'yaml'

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

/** Collections of YAML inside each other. Its parser recurses, and ends the whole process where it runs out of stack. */
const MAX_YAML_DEPTH = 100

/** Parses a text; returns the first problems, errors before warnings. */
export function syntaxProblems(language: ParsedLanguage, text: string): readonly Problem[] {
  const problems = PARSERS[language](text)
  const of = (wanted: Problem['severity']) => problems.filter(({ severity }) => severity === wanted)
  return [...of('error'), ...of('warning')].slice(0, MAX_PROBLEMS)
}

function json(text: string): readonly Problem[] {
  const message = jsonError(text)
  return message === null ? [] : [{ ...placeAt(text, jsonOffset(text, message)), severity: 'error', message }]
}

function jsonError(text: string): string | null {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

/** Node names no place for some errors: it is then the last character of the shortest beginning with such an error. */
function jsonOffset(text: string, message: string): number {
  const position = / in JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  const isPlaceless = (found: string | null): boolean => found?.endsWith(' is not valid JSON') ?? false
  if (!isPlaceless(message)) return text.length
  let [low, high] = [0, text.length]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isPlaceless(jsonError(text.slice(0, middle)))) high = middle
    else low = middle
  }
  return low
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
  const tooDeep = depthProblem(text)
  if (tooDeep !== null) return [tooDeep]
  const lines = new LineCounter()
  const parser = new Parser(lines.addNewLine)
  const composer = new Composer({ lineCounter: lines, prettyErrors: false })
  return [...composer.compose(parser.parse(text))].flatMap(({ errors, warnings }) =>
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

/** Returns a problem at the first collection that is too deep for the parser; null if there is none. */
function depthProblem(text: string): Problem | null {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    const { offset } = parser
    for (const _ of parser.next(lexeme)) {
      // Tokens are not needed here.
    }
    if (parser.stack.length <= MAX_YAML_DEPTH) continue
    return {
      ...placeAt(text, offset),
      severity: 'error',
      message: `more than ${MAX_YAML_DEPTH} levels of collections, which are not checked`
    }
  }
  return null
}

function placeAt(text: string, offset: number): Pick<Problem, 'line' | 'column'> {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 }
}
