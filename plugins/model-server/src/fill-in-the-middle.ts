import type { LoadedModel } from '@svc/contracts'
import { beyondModel } from './unsupported-fields.ts'

/** Special tokens of each model family: prefix, suffix and middle. */
const KNOWN = [
  ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'],
  ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'],
  ['<fim-prefix>', '<fim-suffix>', '<fim-middle>'],
  ['<|code_prefix|>', '<|code_suffix|>', '<|code_middle|>'],
  ['<\uff5cfim\u2581begin\uff5c>', '<\uff5cfim\u2581hole\uff5c>', '<\uff5cfim\u2581end\uff5c>'],
  ['\u2581<PRE>', '\u2581<SUF>', '\u2581<MID>']
] as const

/** Special tokens that precede the name of a repository, and the name of a file. */
const REPOSITORY = ['<|repo_name|>', '<|fim_repo|>', '<fim_repo>', '<repo_name>', '<reponame>', '<REPO>']
const FILE = ['<|file_sep|>', '<file_sep>', '<fim_sep>']

/** Ids of the special tokens for a gap; `repository` and `file` are undefined if the vocabulary lacks them. */
export interface FillTokens {
  readonly prefix: number
  readonly suffix: number
  readonly middle: number
  readonly repository: number | undefined
  readonly file: number | undefined
}

/** True if the model's vocabulary has the tokens for fill-in-the-middle. */
export function fillsInTheMiddle(model: LoadedModel): boolean {
  return fillTokens(model) !== undefined
}

/**
 * Returns a prompt for the text between a prefix and a suffix. Special tokens in both are escaped.
 * Throws `MSV_UNSUPPORTED` if the model cannot fill in the middle.
 */
export function fillInTheMiddle(model: LoadedModel, name: string, prefix: string, suffix: string): readonly number[] {
  const marks = fillTokens(model)
  if (marks === undefined) throw beyondModel('suffix', name, 'insert')
  const plain = (text: string) => model.tokenize(text, { special: false })
  return [marks.prefix, ...plain(prefix), marks.suffix, ...plain(suffix), marks.middle]
}

/** Returns the special tokens for a gap; undefined if the model cannot fill in the middle. */
export function fillTokens(model: LoadedModel): FillTokens | undefined {
  const idOf = (name: string): number | undefined => {
    const [id, ...others] = model.tokenize(name, { special: true })
    return others.length === 0 ? id : undefined
  }
  for (const names of KNOWN) {
    const [prefix, suffix, middle] = names.map(idOf)
    if (prefix === undefined || suffix === undefined || middle === undefined) continue
    const first = (names: readonly string[]) => names.map(idOf).find(id => id !== undefined)
    return { prefix, suffix, middle, repository: first(REPOSITORY), file: first(FILE) }
  }
  return undefined
}
