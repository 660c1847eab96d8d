import { isVagueShort } from '../assess/quality-gate.ts'
import { pathsIn, projectPath, wordsOf } from '../assess/words.ts'
import type { PlanTask } from '../plan-task.ts'

const LONG_WORDS = 36
const CHUNK_WORDS = 16
const BYTES_PER_TOKEN = 4
const VERIFICATION = 'Verify the result: run the tests and checks that cover this goal'
const SPEAKS_OF_VERIFICATION = /verif(?:y|ies|ied|ication)|validat|regression|test/i
const LIST_MARK = /^\s*(?:[-*•+]|\d+[.)])\s+/

/**
 * Splits a goal by its text into steps: lines, numbered items and clauses. Each step depends on the previous one. A
 * verifying step is added if the goal has none and `maxTasks` is above 1. Steps beyond `maxTasks` are joined into the last
 * allowed one.
 */
export function splitGoal(goal: string, options: { readonly maxTasks?: number } = {}): PlanTask[] {
  const pieces = piecesOf(goal)
  const verifies = SPEAKS_OF_VERIFICATION.test(goal)
  const room = Math.max(1, (options.maxTasks ?? Number.POSITIVE_INFINITY) - (verifies ? 0 : 1))
  const steps = pieces.length <= room ? pieces : [...pieces.slice(0, room - 1), pieces.slice(room - 1).join('; ')]
  if (!verifies && (options.maxTasks ?? 2) > 1) steps.push(VERIFICATION)
  return steps.map((description, at) => taskOf(description, at + 1))
}

/** Returns a step that depends on the previous one. */
export function taskOf(description: string, id: number): PlanTask {
  return {
    id,
    description,
    files: [...new Set(pathsIn(description).flatMap(path => projectPath(path) ?? []))],
    estimated_complexity: complexityOfText(description),
    depends_on: id === 1 ? [] : [id - 1],
    preconditions: []
  }
}

/** Returns a tenth of the estimated tokens of the text, between 3 and 10. */
export function complexityOfText(description: string): number {
  return Math.min(10, Math.max(3, Math.floor(Buffer.byteLength(description) / BYTES_PER_TOKEN / 10)))
}

/** Splits text into parts that can be steps; empty only if the text is blank. */
export function piecesOf(goal: string): string[] {
  const lines = goal
    .split(/\r?\n/)
    .flatMap(line => (/^\s*#/.test(line) ? [] : line.split(/(?<=\S)\s+(?=\d+[.)]\s+\S)/)))
    .map(line => line.trim().replace(/\s+/g, ' ').replace(LIST_MARK, ''))
    .filter(line => line !== '')
  const split = lines.flatMap(line => clauses(line, /(\s+and\s+|\s*;\s*)/i))
  const pieces = split.length > 1 ? split : split.flatMap(line => clauses(line, /(,\s+)/))
  const whole = pieces.length === 0 ? [goal.trim()].filter(text => text !== '') : pieces
  return whole.flatMap(chunks)
}

/** Splits at a separator unless a part would be too short: "read a and b" stays together. */
function clauses(line: string, separator: RegExp): string[] {
  const parts = line.split(separator)
  const found: string[] = []
  let current = parts[0] ?? ''
  let short = isVagueShort(current)
  for (let at = 1; at < parts.length; at += 2) {
    const next = parts[at + 1] ?? ''
    if (short || isVagueShort(next)) {
      current += `${parts[at] ?? ''}${next}`
      short &&= isVagueShort(current)
    } else {
      found.push(current)
      current = next
      short = false
    }
  }
  found.push(current)
  return found.map(tidy).filter(piece => piece !== '')
}

function tidy(piece: string): string {
  const text = piece.trim().replace(/^(?:(?:and|then)\s+)+/i, '')
  let end = text.length
  while (end > 0 && ' ,;.'.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

function chunks(piece: string): string[] {
  const words = wordsOf(piece)
  if (words.length <= LONG_WORDS) return [piece]
  const found: string[] = []
  for (let at = 0; at < words.length; at += CHUNK_WORDS) found.push(words.slice(at, at + CHUNK_WORDS).join(' '))
  // Text after the first chunk rarely contains an action.
  return found.map((chunk, at) => (at === 0 ? chunk : `Continue: ${chunk}`))
}
