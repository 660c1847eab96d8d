/** Results of benchmarks in bench/results/*.json, one file for each section of docs/performance.md, and their plots. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Figure } from './figures.ts'
import { comparisonPlot, goalPlot } from './plot.ts'

const ROOT = join(import.meta.dirname, '..')
const RESULTS = join(import.meta.dirname, 'results')
const PLOTS = join(ROOT, 'docs', 'plots')

/** Row of a table of the document. */
export interface Measured {
  readonly what: string
  readonly value: Figure
  readonly unit: string
  /** Null: the figure has no goal. */
  readonly goal: number | null
  readonly atLeast: boolean
}

/** Values of several programs that do the same work. */
export interface Comparison {
  readonly title: string
  readonly unit: string
  readonly bars: readonly { readonly name: string; readonly value: Figure }[]
}

export interface SectionResults {
  readonly section: string
  /** Commit that was measured; without outputs, the one that recorded the figures. */
  readonly commit: string
  readonly measured_at: string
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly memory_bytes: number | null
    readonly node: string
  }
  readonly figures: readonly Measured[]
  readonly comparisons: readonly Comparison[]
  /** Output of each benchmark, with its samples; empty if it was not kept. */
  readonly outputs: Readonly<Record<string, unknown>>
}

/** Tables whose rows are programs, by section: the columns with the name and the value, and the rows that count. */
const COMPARED: Readonly<
  Record<string, { title: string; unit: string; name: string; value: string; where?: Readonly<Record<string, string>> }>
> = {
  orchestrator: { title: 'Durable queues', unit: 'Tasks per second', name: 'queue', value: 'tasks per second' },
  embeddings: {
    title: 'Embeddings of paragraphs, 32 in a call',
    unit: 'Texts per second',
    name: 'program',
    value: 'texts per second',
    where: { texts: 'paragraphs', 'in a call': '32' }
  }
}

/** Writes the results of a section that was measured now. */
export function writeResults(section: string, body: string, outputs: Readonly<Record<string, unknown>>): void {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
  const [cpu] = cpus()
  saveResults({
    section,
    commit,
    measured_at: new Date().toISOString(),
    machine: {
      cpu: cpu?.model.trim() ?? '',
      cores: cpus().length,
      memory_bytes: totalmem(),
      node: process.version.slice(1)
    },
    ...describeSection(section, body),
    outputs
  })
}

/** Returns the figures in the tables of a section, and the values of programs that do the same work. */
export function describeSection(section: string, body: string): Pick<SectionResults, 'figures' | 'comparisons'> {
  return { figures: figuresIn(body), comparisons: comparisonsIn(section, body) }
}

export function saveResults(results: SectionResults): void {
  mkdirSync(RESULTS, { recursive: true })
  writeFileSync(join(RESULTS, `${results.section}.json`), `${JSON.stringify(results, null, 2)}\n`)
}

/** Returns the recorded results of a section; undefined if there are none. */
export function readResults(section: string): SectionResults | undefined {
  const file = join(RESULTS, `${section}.json`)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as SectionResults) : undefined
}

/** Returns the plots of a section as SVG, by file name. */
export function plotsOf({ section, figures, comparisons }: SectionResults): ReadonlyMap<string, string> {
  const plots = new Map<string, string>()
  const title = 'Measured figures and their goals'
  if (figures.some(({ goal }) => goal !== null)) plots.set(`${section}.svg`, goalPlot(title, figures))
  for (const comparison of comparisons) plots.set(`${section}-compared.svg`, comparisonPlot(comparison))
  return plots
}

/** Writes the plots of a section, and returns the body of the section with their pictures before its first table. */
export function withPlots(section: string, body: string): string {
  const plain = withoutPlots(body)
  const results = readResults(section)
  if (results === undefined) return plain
  mkdirSync(PLOTS, { recursive: true })
  const plots = plotsOf(results)
  for (const [name, svg] of plots) writeFileSync(join(PLOTS, name), svg)
  const pictures = [...plots.keys()].map(name => {
    const text = name.endsWith('-compared.svg')
      ? results.comparisons[0]?.title
      : 'Figures of the table below by their distance to the goal'
    return `![${text}](plots/${name})\n\n`
  })
  const table = plain.search(/^\| (?:what|texts) \|/m)
  return table < 0 ? plain : `${plain.slice(0, table)}${pictures.join('')}${plain.slice(table)}`
}

export function withoutPlots(body: string): string {
  return body.replaceAll(/^!\[[^\]]*\]\(plots\/[^)]*\)\n\n/gm, '')
}

/** Returns the rows of all tables that have a column with goals or budgets. */
export function figuresIn(body: string): Measured[] {
  return tablesIn(body).flatMap(rows =>
    rows.flatMap(row => {
      const goal = row.goal ?? row.budget
      const value = parseFigure(row.ratio ?? row.measured ?? row.time ?? '')
      if (goal === undefined || value === null) return []
      const [, sign = '', bound = '', unit = ''] = /^([≥≤<]?)\s*([\d.,]+)\s*(\S*)$/.exec(goal) ?? []
      const same = unit === value.unit || unit === '' || value.unit === ''
      const number = bound !== '' && same ? Number(bound.replaceAll(',', '')) : null
      const what = (row.what ?? '').replaceAll('`', '')
      return [{ what, value: value.figure, unit: value.unit, goal: number, atLeast: sign === '≥' }]
    })
  )
}

function comparisonsIn(section: string, body: string): Comparison[] {
  const wanted = COMPARED[section]
  if (wanted === undefined) return []
  const { title, unit, name, value, where = {} } = wanted
  const rows = tablesIn(body)
    .flat()
    .filter(row => row[name] !== undefined && Object.entries(where).every(([column, cell]) => row[column] === cell))
  const bars = rows.flatMap(row => {
    const parsed = parseFigure(row[value] ?? '')
    return parsed === null ? [] : [{ name: row[name] as string, value: parsed.figure }]
  })
  return bars.length === 0 ? [] : [{ title, unit, bars }]
}

/** Parses a cell such as `0.95x (0.77 to 1.10)` or `32.3 ms`. */
export function parseFigure(cell: string): { figure: Figure; unit: string } | null {
  const found = /^(-?[\d.,]+)\s?(x|ns|µs|ms|s|B|kB|KB|MB|%)?(?![\w.])(?: \((-?[\d.,]+) to (-?[\d.,]+)\))?/.exec(cell)
  if (found === null) return null
  const [, median = '', unit = '', min = median, max = median] = found
  const number = (digits: string) => Number(digits.replaceAll(',', ''))
  return { figure: { median: number(median), min: number(min), max: number(max) }, unit }
}

/** Returns the rows of each table, with their cells by the heading of the column. */
function tablesIn(body: string): Readonly<Record<string, string>>[][] {
  return body.split(/\n(?!\|)/).flatMap(block => {
    const lines = block.split('\n').filter(line => line.startsWith('|'))
    if (lines.length < 3) return []
    const cells = (line: string) =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim())
    const headings = cells(lines[0] as string)
    return [
      lines.slice(2).map(line => {
        const row = cells(line)
        return Object.fromEntries(headings.flatMap((heading, at) => (heading === '' ? [] : [[heading, row[at] ?? '']])))
      })
    ]
  })
}
