import { type Figure, withRange } from './figures.ts'
import type { IdleServer } from './idle-servers.ts'
import type { InstallResult } from './install.ts'
import { runBenchmark } from './run-benchmark.ts'

type StartupFigure = 'help_over_node_ms' | 'call_ms' | 'hundred_plugins_over_empty_ms'

/** Largest resident sets at rest in MB, by the name of the server. */
const RSS_GOALS: Readonly<Record<string, string>> = { 'svc, all plugins': '≤ 250 MB' }

/** Measures the section on start-up and size, without its heading. */
export async function measureStartup(): Promise<string[]> {
  const { results } = await runBenchmark<{ results: Record<StartupFigure, Figure> }>('startup')
  const { servers } = await runBenchmark<{ servers: readonly IdleServer[] }>('idle-servers')
  const install = await runBenchmark<InstallResult>('install')
  return [
    '',
    'Whole processes, in rotation (`bench/startup.ts`, `bench/idle-servers.ts`, `bench/install.ts`). Medians, with the range of all',
    'rounds.',
    '',
    '| what | measured | goal |',
    '|---|---|---|',
    `| \`svc --help\`, time added to that of \`node -e 0\` | ${withRange(results.help_over_node_ms, ' ms')} | ≤ 50 ms |`,
    `| \`svc call\` of an operation on a running server | ${withRange(results.call_ms, ' ms')} | ≤ 150 ms |`,
    `| cold start with 100 trivial plugins, time added to that of an empty kernel | ${withRange(results.hundred_plugins_over_empty_ms, ' ms')} | ≤ 250 ms |`,
    `| \`npm ci\` with a warm cache | ${withRange(install.seconds, ' s')} | ≤ 30 s |`,
    `| size of its \`node_modules\` | ${install.size_mb} MB | ≤ 450 MB |`,
    '',
    '| server | from its start to the first answer | resident memory after 30 s at rest | goal |',
    '|---|---|---|---|',
    ...servers.map(
      ({ name, answer_ms, rss_mb }) =>
        `| ${name} | ${withRange(answer_ms, ' ms')} | ${withRange(rss_mb, ' MB')} | ${RSS_GOALS[name] ?? ''} |`
    )
  ]
}
