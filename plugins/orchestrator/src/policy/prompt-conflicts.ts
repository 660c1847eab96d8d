import type { FileAffinity } from '@svc/contracts'
import { maskMentions } from './prompt-mask.ts'
import { type PromptWord, promptWords } from './prompt-words.ts'

const MAX_WARNINGS = 8

const NEGATIVE = /\bnot\b|\bnever\b|n['’]t\b|\bwithout\b|\bonly\b|\bbrief|\bconcise|\bshort\b|\bavoid\b/i

/** Verbs of instructions that are checked for contradictions. */
const VERBS = new Set([
  ...['add', 'change', 'create', 'delete', 'edit', 'install', 'keep', 'modify', 'move', 'refactor', 'remove', 'rename'],
  ...[
    'replace',
    'rewrite',
    'run',
    'split',
    'touch',
    'update',
    'upgrade',
    'use',
    'write',
    'commit',
    'push',
    'test',
    'fix'
  ]
])
const NEGATIONS = new Set(['not', 'never', "don't", 'dont', "mustn't", "shouldn't", 'avoid', 'without'])
const FILLERS = new Set([
  ...[
    'the',
    'a',
    'an',
    'any',
    'all',
    'new',
    'more',
    'some',
    'every',
    'other',
    'existing',
    'of',
    'our',
    'its',
    'this',
    'that'
  ],
  ...['these', 'those', 'to', 'unit', 'extra', 'additional']
])
const BRIEF = new Set(['brief', 'concise', 'short', 'terse'])
const LONG = new Set(['detailed', 'exhaustive', 'comprehensive', 'verbose'])
const CHANGES = new Set(['modify', 'change', 'edit', 'write', 'touch'])

/** Finds instructions that contradict each other or the files to write; at most 8. Runs in linear time. */
export function findConflicts(text: string, files: readonly FileAffinity[] = []): readonly string[] {
  if (!NEGATIVE.test(text)) return []
  const words = promptWords(maskMentions(text))
  const [required, forbidden] = [new Map<string, string>(), new Map<string, string>()]
  const warnings: string[] = []
  const styles = { brief: '', long: '' }
  for (const [at, { text: word }] of words.entries()) {
    if (BRIEF.has(word) && isStyle(words, at)) styles.brief = word
    if (LONG.has(word) && isStyle(words, at)) styles.long = word
    const verb = stem(word)
    if (!VERBS.has(verb)) continue
    const object = objectOf(words, at)
    if (object === null) continue
    const negated = isNegated(words, at)
    if (!negated && !isOrder(words, at)) continue
    const order = `${verb} ${object.stem}`
    ;(negated ? forbidden : required).set(order, `${word} ${object.word}`)
  }
  for (const [order, phrase] of forbidden) {
    if (required.has(order))
      warnings.push(`the description both requires "${required.get(order)}" and forbids "${phrase}"`)
    const written = files.find(file => file.access === 'write')
    const [verb = '', object = ''] = order.split(' ')
    if (written !== undefined && CHANGES.has(verb) && ['file', 'anything', 'code'].includes(object))
      warnings.push(`the description forbids "${phrase}", but the task writes ${written.path}`)
  }
  if (styles.brief !== '' && styles.long !== '')
    warnings.push(`the description requires both a ${styles.brief} and a ${styles.long} style`)
  return warnings.slice(0, MAX_WARNINGS)
}

function objectOf(words: readonly PromptWord[], verb: number): { readonly stem: string; readonly word: string } | null {
  for (let at = verb + 1; at <= verb + 4; at++) {
    const word = words[at]
    if (word === undefined || word.sentence !== words[verb]?.sentence) return null
    if (FILLERS.has(word.text)) continue
    return { stem: singular(word.text), word: word.text }
  }
  return null
}

function isNegated(words: readonly PromptWord[], at: number): boolean {
  for (let before = at - 1; before >= Math.max(0, at - 2); before--) {
    const word = words[before]
    if (word?.sentence !== words[at]?.sentence) return false
    if (word !== undefined && NEGATIONS.has(word.text)) return true
  }
  return false
}

function isOrder(words: readonly PromptWord[], at: number): boolean {
  const before = words[at - 1]?.text ?? ''
  return words[at]?.opens === true || ['and', 'then', 'please', 'must', 'should', 'also', 'always'].includes(before)
}

/** Returns true if the word is a style instruction, for example "be brief", "keep it short" or "a detailed answer". */
function isStyle(words: readonly PromptWord[], at: number): boolean {
  const [two, one, next] = [words[at - 2]?.text ?? '', words[at - 1]?.text ?? '', words[at + 1]?.text ?? '']
  return one === 'be' || two === 'be' || two === 'keep' || ['answer', 'explanation', 'report', 'summary'].includes(next)
}

function stem(word: string): string {
  if (word.endsWith('ing')) {
    const root = word.slice(0, -3)
    for (const candidate of [root, `${root}e`, root.slice(0, -1)]) if (VERBS.has(candidate)) return candidate
  }
  return word
}

function singular(word: string): string {
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}
