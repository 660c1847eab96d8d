/**
 * Cost of hooks: calls of a trivial operation whose hooks no plugin, or one plugin, taps. Compared with a build of the
 * kernel that does not check for taps. Also the cost of announcing a topic that no client watches.
 *
 * Rounds alternate between the contestants. The median of each is printed with its range, in nanoseconds of CPU time.
 *
 *   node --import tsx --conditions=svc-source bench/hooks.ts [--json] [--rounds N] [--calls N]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { build, type Plugin } from 'esbuild'
import { figureOf, ratioOf } from './figures.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '9' },
    calls: { type: 'string', default: '50000' }
  }
})
const [rounds, calls] = [Number(values.rounds), Number(values.calls)]
const root = fileURLToPath(new URL('..', import.meta.url))

/** Source text of the kernel's checks for taps in a call. */
const CHECKS = ['unit.hooks?.operationStarting', 'this.unit.hooks?.operationEnded']

const withoutLooks: Plugin = {
  name: 'without checks',
  setup({ onLoad }) {
    onLoad({ filter: /core[\\/]operations\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      for (const check of CHECKS) if (!text.includes(check)) throw new Error(`${path} does not contain ${check}`)
      const contents = CHECKS.toReversed().reduce(
        (sum, check) => sum.replace(check, 'undefined as Run | undefined'),
        text
      )
      return { contents, loader: 'ts' }
    })
  }
}

type Contestant = typeof import('./hook-calls.ts')

/** Bundles the kernel, so that the builds differ only in the checks. */
async function bundle(folder: string, name: string, plugins: Plugin[]): Promise<Contestant> {
  const outfile = join(folder, `${name}.mjs`)
  await build({
    entryPoints: [join(root, 'bench', 'hook-calls.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['svc-source'],
    packages: 'bundle',
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);"
    },
    external: ['esbuild', 'fsevents'],
    plugins,
    logLevel: 'error'
  })
  return (await import(pathToFileURL(outfile).href)) as Contestant
}

const folder = mkdtempSync(join(root, 'node_modules', '.bench-hooks-'))
try {
  const usual = await bundle(folder, 'usual', [])
  const blind = await bundle(folder, 'without-looks', [withoutLooks])
  const samples = {
    without: [] as number[],
    untapped: [] as number[],
    tapped: [] as number[],
    look: [] as number[],
    changed: [] as number[]
  }
  for (let round = 0; round < rounds; round++) {
    samples.without.push(await blind.measureCall(calls, false))
    samples.untapped.push(await usual.measureCall(calls, false))
    samples.tapped.push(await usual.measureCall(calls, true))
    samples.look.push(await usual.measureLook(calls * 20))
    samples.changed.push(await usual.measureChanged(calls * 20))
  }
  const results = {
    without_looks_ns: figureOf(samples.without),
    untapped_ns: figureOf(samples.untapped),
    untapped_over_without: ratioOf(samples.untapped, samples.without),
    tapped_ns: figureOf(samples.tapped),
    tapped_over_untapped: ratioOf(samples.tapped, samples.untapped),
    look_ns: figureOf(samples.look),
    changed_ns: figureOf(samples.changed)
  }
  process.stdout.write(`${JSON.stringify({ results, rounds, calls }, null, values.json ? 0 : 2)}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
