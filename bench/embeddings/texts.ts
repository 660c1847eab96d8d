import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../inference/peers.ts'

/** Words of a text of about 128 tokens in the vocabulary of the benchmark. */
const EQUAL_WORDS = 90
const MIN_CHARACTERS = 20

/** Texts of the measurements, by their kind. */
export interface TextSets {
  /** Beginnings of sentences, like queries of a search. */
  readonly queries: readonly string[]
  /** Paragraphs of unlike lengths, as they are. */
  readonly paragraphs: readonly string[]
  /** Texts of like length. */
  readonly equal: readonly string[]
}

/** Returns the paragraphs of the documents of this repository, in a fixed order. */
export async function paragraphs(): Promise<readonly string[]> {
  const names = await readdir(join(root, 'docs'), { recursive: true })
  const found: string[] = []
  for (const name of names.filter(each => each.endsWith('.md')).toSorted()) {
    const text = await readFile(join(root, 'docs', name), 'utf8')
    found.push(...text.split(/\n{2,}/).filter(each => each.trim().length >= MIN_CHARACTERS))
  }
  return found
}

/** Chooses `count` texts of each kind; another `round` gives other texts. */
export function textSets(all: readonly string[], count: number, round: number): TextSets {
  // A step that shares no factor with the number of paragraphs spreads the choice over all documents.
  const chosen = Array.from({ length: count }, (_, i) => all[((round * count + i) * 7919) % all.length] as string)
  const words = chosen.map(text => text.split(/\s+/))
  const stream = all
    .slice((round * 331) % (all.length / 2))
    .join(' ')
    .split(/\s+/)
  return {
    queries: words.map(each => each.slice(0, 9).join(' ')),
    paragraphs: chosen,
    equal: chosen.map((_, i) => stream.slice(i * EQUAL_WORDS, (i + 1) * EQUAL_WORDS).join(' '))
  }
}
