import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { scan } from './scan.ts'

const FOLDER = join(import.meta.dirname, '../../../test/fixtures/stub-check')

/** Least share of labels that are found, and of findings that are labelled. */
const MIN_RECALL = 0.95
const MIN_PRECISION = 0.95

interface Snippet {
  readonly path: string
  /** `rule:line`, of severity warning or above. */
  readonly labels: readonly string[]
  readonly text: string
}

/** Reads snippets: a line `@@ path | rule:line, …`, or `-` for no finding, and then the text. */
function snippetsOf(file: string): Snippet[] {
  return readFileSync(join(FOLDER, file), 'utf8')
    .split(/^@@ /m)
    .slice(1)
    .map(block => {
      const end = block.indexOf('\n')
      const [path = '', labels = ''] = block.slice(0, end).split(' | ')
      return { path, labels: labels === '-' ? [] : labels.split(', '), text: block.slice(end + 1) }
    })
}

t.test('finds what people labelled in more than 300 snippets, and little else', async t => {
  const snippets = readdirSync(FOLDER)
    .filter(name => name.endsWith('.txt'))
    .flatMap(snippetsOf)
  t.ok(snippets.length >= 300, `${snippets.length} snippets`)
  t.ok(snippets.filter(({ labels }) => labels.length === 0).length >= 100, 'a third of them are correct code')
  const families = new Map<string, { right: number; extra: number; missed: number }>()
  const count = (label: string, what: 'right' | 'extra' | 'missed'): void => {
    const family = label.split(/[/:]/, 1)[0] as string
    const counts = families.get(family) ?? { right: 0, extra: 0, missed: 0 }
    counts[what] += 1
    families.set(family, counts)
  }
  for (const { path, labels, text } of snippets) {
    const { findings } = await scan(path, text)
    const reported = findings
      .filter(({ severity }) => severity !== 'info')
      .map(({ ruleId, line }) => `${ruleId}:${line}`)
    for (const label of labels) {
      count(label, reported.includes(label) ? 'right' : 'missed')
      if (!reported.includes(label))
        t.comment(`missed ${label} in ${path}: ${text.slice(0, 120).replaceAll('\n', '⏎')}`)
    }
    for (const label of reported.filter(each => !labels.includes(each))) {
      count(label, 'extra')
      t.comment(`surplus ${label} in ${path}: ${text.slice(0, 120).replaceAll('\n', '⏎')}`)
    }
  }
  let [right, extra, missed] = [0, 0, 0]
  for (const [family, counts] of [...families].sort()) {
    t.comment(`${family}: ${counts.right} found, ${counts.missed} missed, ${counts.extra} surplus`)
    right += counts.right
    extra += counts.extra
    missed += counts.missed
  }
  const recall = right / (right + missed)
  const precision = right / (right + extra)
  t.comment(`${snippets.length} snippets: precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}`)
  t.ok(recall >= MIN_RECALL, `recall ${recall.toFixed(3)}`)
  t.ok(precision >= MIN_PRECISION, `precision ${precision.toFixed(3)}`)
})
