import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeName, Outcome, Violation } from './ledger.ts'
import { type PlottedEvent, type PlottedPhase, soakPlot, type Totals } from './plot.ts'
import type { Sample } from './samples.ts'
import { type Point, slopePerHour } from './statistics.ts'
import type { Lifetime } from './svc-node.ts'

const MIB = 1024 * 1024
const NODES = ['one', 'two'] as const

/** Growth is judged from so many minutes of constant load on: before that, the heap is still finding its size. */
const MIN_JUDGED_MINUTES = 15

/** Limits of growth per hour under constant load. */
export const LIMITS = { rssMiB: 5, heapMiB: 5, handles: 1, threads: 1 } as const

export interface Run {
  readonly minutes: number
  readonly from: number
  readonly to: number
  readonly phases: readonly PlottedPhase[]
  /** Version of Node. */
  readonly node: string
  readonly lifetimes: Readonly<Record<NodeName, readonly Lifetime[]>>
  readonly counts: Readonly<Record<string, Record<Outcome, number>>>
}

/** Growth of a node per hour while there is only load. */
export interface Growth {
  readonly node: NodeName
  readonly minutes: number
  readonly rssMiB: number
  readonly heapMiB: number
  readonly handles: number
  readonly threads: number
}

interface Recorded {
  readonly run: Run
  readonly samples: readonly Sample[]
  readonly totals: readonly Totals[]
  readonly events: readonly (PlottedEvent & { readonly node: string })[]
  readonly violations: readonly Violation[]
}

/** Writes `summary.md` and `soak.svg` of a run, and returns the summary with the verdict. */
export function summarise(out: string): { readonly text: string; readonly isPassed: boolean } {
  const recorded: Recorded = {
    run: JSON.parse(readFileSync(join(out, 'run.json'), 'utf8')),
    samples: readLines(out, 'samples.jsonl'),
    totals: readLines(out, 'totals.jsonl'),
    events: readLines(out, 'events.jsonl'),
    violations: readLines(out, 'violations.jsonl')
  }
  const growth = NODES.map(node => growthOf(recorded.run, recorded.samples, node))
  const excesses = growth.flatMap(excessesOf)
  const isPassed = recorded.violations.length === 0 && excesses.length === 0
  const lines = [
    ...outcomes(recorded),
    '',
    ...faults(recorded),
    '',
    ...growthTable(growth),
    '',
    ...lifetimes(recorded),
    '',
    ...fileGrowth(recorded),
    '',
    ...(growth.some(({ minutes }) => minutes < MIN_JUDGED_MINUTES) ? ['The run is too short to judge growth.'] : []),
    ...excesses,
    `${isPassed ? 'passed' : 'failed'}: ${recorded.violations.length} violations, ${excesses.length} limits exceeded`,
    ''
  ]
  const text = lines.join('\n')
  writeFileSync(join(out, 'summary.md'), text)
  const { run, samples, totals, events } = recorded
  writeFileSync(join(out, 'soak.svg'), soakPlot({ ...run, samples, totals, events }))
  return { text, isPassed }
}

export function growthOf(run: Run, samples: readonly Sample[], node: NodeName): Growth {
  const { from, to } = loadOnly(run)
  const used = samples.filter(each => each.node === node && each.time >= from && each.time <= to)
  const slope = (value: (sample: Sample) => number | null): number =>
    slopePerHour(
      used.flatMap(each => {
        const found = value(each)
        return found === null ? [] : [[each.time, found] as Point]
      })
    )
  return {
    node,
    minutes: (to - from) / 60_000,
    rssMiB: slope(({ rss }) => rss / MIB),
    heapMiB: slope(({ heap }) => (heap === null ? null : heap / MIB)),
    handles: slope(({ handles }) => handles),
    threads: slope(({ threads }) => threads)
  }
}

function excessesOf(growth: Growth): string[] {
  if (growth.minutes < MIN_JUDGED_MINUTES) return []
  return (Object.keys(LIMITS) as (keyof typeof LIMITS)[])
    .filter(name => !(growth[name] <= LIMITS[name]))
    .map(
      name => `node ${growth.node}: ${name} grows by ${growth[name].toFixed(1)} per hour; the limit is ${LIMITS[name]}`
    )
}

function loadOnly({ phases }: Run): PlottedPhase {
  return phases.find(({ name }) => name === 'load only') as PlottedPhase
}

function outcomes({ run }: Recorded): string[] {
  const rows = Object.entries(run.counts).map(([load, { ok, refused, excused, starved, violation }]) => [
    load,
    ok,
    refused,
    excused,
    starved,
    violation
  ])
  const sum = (column: number): number => rows.reduce((total, row) => total + Number(row[column]), 0)
  return table(
    [
      'Load or check',
      'Succeeded',
      'Refused as expected',
      'Failed because of a fault',
      'Failed without CPU time',
      'Violations'
    ],
    [...rows, ['all', sum(1), sum(2), sum(3), sum(4), sum(5)]]
  )
}

function faults({ events }: Recorded): string[] {
  const counts = new Map<string, number>()
  const known =
    /^(kill -9|SIGTERM|isolated process killed|disk full|network: \w+|settings changed|reload|endless function)$/
  for (const { kind } of events) if (known.test(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return table(['Fault', 'Times'], [...counts])
}

function growthTable(growth: readonly Growth[]): string[] {
  return table(
    ['Growth per hour, load only', 'Minutes', 'RSS, MiB', 'Heap after collection, MiB', 'Handles', 'Threads'],
    [
      ...growth.map(({ node, minutes, rssMiB, heapMiB, handles, threads }) => [
        `node ${node}`,
        minutes.toFixed(0),
        ...[rssMiB, heapMiB, handles, threads].map(value => value.toFixed(1))
      ]),
      ['limit', '', LIMITS.rssMiB, LIMITS.heapMiB, LIMITS.handles, LIMITS.threads]
    ]
  )
}

function lifetimes({ run, samples }: Recorded): string[] {
  const rows = NODES.flatMap(node =>
    run.lifetimes[node].map(({ pid, from, readyAt, to, how }) => {
      const own = samples.filter(each => each.pid === pid && each.node === node)
      const rss = own.map(each => each.rss / MIB)
      const heap = own.flatMap(each => (each.heap === null ? [] : [each.heap / MIB]))
      const minutes = ((to ?? run.to) - from) / 60_000
      const cpu = (own.at(-1)?.cpu ?? 0) / (minutes * 60)
      return [
        `node ${node}`,
        minutes.toFixed(0),
        readyAt === 0 ? '' : ((readyAt - from) / 1_000).toFixed(0),
        how === '0' ? 'SIGTERM' : (how ?? ''),
        range(rss),
        range(heap),
        range(own.map(each => each.handles)),
        `${(cpu * 100).toFixed(0)} %`
      ]
    })
  )
  return table(
    ['Process', 'Minutes', 'Seconds to ready', 'Ended by', 'RSS, MiB', 'Heap, MiB', 'Handles', 'CPU of one core'],
    rows
  )
}

/** Growth of files per 1,000 requests while there is only load. */
function fileGrowth({ run, samples, totals }: Recorded): string[] {
  const { from, to } = loadOnly(run)
  const inside = totals.filter(each => each.time >= from && each.time <= to)
  const [first, last] = [inside[0], inside.at(-1)]
  if (first === undefined || last === undefined || first === last) return []
  // The loads use both nodes alike.
  const thousands = (last.ok + last.refused - first.ok - first.refused) / NODES.length / 1_000
  const rows = NODES.flatMap(node => {
    const deep = samples.filter(
      each => each.node === node && each.files !== null && each.time >= from && each.time <= to
    )
    const [before, after] = [deep[0]?.files, deep.at(-1)?.files]
    if (before === undefined || before === null || after === undefined || after === null) return []
    return Object.keys(after)
      .map(
        file =>
          [file, ((after[file] ?? 0) - (before[file] ?? 0)) / 1024 / thousands, (after[file] ?? 0) / 1024] as const
      )
      .filter(([, growth]) => Math.abs(growth) >= 1)
      .map(([file, growth, size]) => [`node ${node}`, file, growth.toFixed(0), size.toFixed(0)])
  })
  return table(['Files', 'File or folder', 'KiB per 1,000 requests', 'KiB at the end'], rows)
}

function range(values: readonly number[]): string {
  if (values.length === 0) return ''
  return `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  return [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`)
}

function readLines<A>(out: string, file: string): A[] {
  const path = join(out, file)
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as A)
}
