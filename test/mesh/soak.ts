// Runs the workload of the mesh with many seeds and prints a table of the results in Markdown:
//   node --import tsx --conditions=svc-source test/mesh/soak.ts --seeds 200 [--first 1] [--bed NAME]
// The seed determines the workload and the faults, but not the order in which processes run. So the history of a run with a
// violation is written to a file, and the exit status is 1.
import '../../plugins/database/test/built-worker.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { noPostgres, PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import type { BedPlace } from './bed-place.ts'
import { noFakeClock } from './fake-clock.ts'
import { openPlanesBed } from './planes-bed.ts'
import { openFailoverBed, openPostgresBed } from './postgres-bed.ts'
import { openProcessBed } from './process-bed.ts'
import { type Bed, runWorkload, type WorkloadOptions, type WorkloadResult } from './workload.ts'

interface SoakedBed {
  /** Value of `--bed`. */
  readonly bed: 'processes' | 'postgres' | 'failover' | 'planes'
  readonly title: string
  readonly needsServer: boolean
  readonly options: WorkloadOptions
  open(place: BedPlace, server: PostgresServer | null): Promise<Bed>
}

const clocks = noFakeClock === false ? ['+1h', '-1h', '+0'] : []
const planes = { planes: 3, maxKills: 4, clocks }
const planesOptions: WorkloadOptions = { clients: 6, steps: 50, slowShare: 0.4, backlog: 40 }

const BEDS: readonly SoakedBed[] = [
  {
    bed: 'processes',
    title: 'processes on a file',
    needsServer: false,
    options: { clients: 4 },
    open: place => openProcessBed(place)
  },
  {
    bed: 'postgres',
    title: 'processes on PostgreSQL, which crashes',
    needsServer: true,
    options: { clients: 4 },
    open: (place, server) => openPostgresBed(place, server as PostgresServer)
  },
  {
    bed: 'failover',
    title: 'PostgreSQL with a synchronous standby that is promoted',
    needsServer: true,
    options: { clients: 4, backlog: 40 },
    open: place => openFailoverBed(place, { isSynchronous: true })
  },
  {
    bed: 'failover',
    title: 'PostgreSQL with a standby that lags, and is promoted: fences only',
    needsServer: true,
    options: { clients: 4, backlog: 40 },
    open: place => openFailoverBed(place, { isSynchronous: false })
  },
  {
    bed: 'planes',
    title: 'control planes on a file',
    needsServer: false,
    options: planesOptions,
    open: place => openPlanesBed(place, { ...planes, postgres: null })
  },
  {
    bed: 'planes',
    title: 'control planes on PostgreSQL',
    needsServer: true,
    options: planesOptions,
    open: (place, server) => openPlanesBed(place, { ...planes, postgres: server })
  }
]

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    first: { type: 'string', default: '1' },
    bed: { type: 'string' }
  }
})
const [seeds, first] = [values.seeds, values.first].map(Number) as [number, number]
const chosen = BEDS.filter(({ bed }) => values.bed === undefined || values.bed === bed)
if (!Number.isInteger(seeds) || seeds < 1 || !Number.isInteger(first) || chosen.length === 0) {
  const names = [...new Set(BEDS.map(({ bed }) => bed))].join(', ')
  process.stderr.write(`usage: soak.ts --seeds NUMBER [--first NUMBER] [--bed NAME]; the beds are ${names}\n`)
  process.exit(2)
}

/** Runs one seed in a temporary folder. */
async function soak(bed: SoakedBed, server: PostgresServer | null, seed: number): Promise<WorkloadResult> {
  const closers: (() => unknown)[] = []
  const folder = mkdtempSync(join(tmpdir(), 'svc-soak-'))
  try {
    return await runWorkload(
      await bed.open({ folder, teardown: close => void closers.unshift(close) }, server),
      seed,
      bed.options
    )
  } finally {
    for (const close of closers) await close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const rows: (readonly (string | number)[])[] = []
let isWrong = false
let server: PostgresServer | null = null
try {
  for (const bed of chosen) {
    if (bed.needsServer && noPostgres !== false) {
      process.stderr.write(`${bed.title}: skipped; ${noPostgres}\n`)
      continue
    }
    if (bed.needsServer) server ??= await PostgresServer.start()
    const sums = { calls: 0, grants: 0, unknown: 0, faults: 0 }
    let violations = 0
    for (let seed = first; seed < first + seeds; seed++) {
      const result = await soak(bed, server, seed)
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += result[name]
      violations += result.violations.length
      const { calls, grants, unknown, faults } = result
      process.stderr.write(
        `${bed.title}: seed ${seed}: ${calls} calls, ${grants} grants, ${unknown} unknown, ${faults} faults\n`
      )
      if (result.violations.length === 0) continue
      isWrong = true
      const file = join(tmpdir(), `svc-soak-${bed.bed}-${seed}-${process.pid}.jsonl`)
      writeFileSync(file, result.history.map(call => `${JSON.stringify(call)}\n`).join(''))
      process.stderr.write(`seed ${seed} has violations; its history is in ${file}\n`)
      for (const violation of result.violations) process.stderr.write(`  ${violation}\n`)
    }
    rows.push([bed.title, seeds, sums.calls, sums.grants, sums.unknown, sums.faults, violations])
  }
} finally {
  await server?.remove()
}
process.stdout.write(
  '| bed | seeds | calls | grants | unknown | faults | violations |\n|---|---|---|---|---|---|---|\n'
)
for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`)
process.exitCode = isWrong ? 1 : 0
