import type { ConsolePageResults } from './console-page.ts'
import type { PlaygroundResults } from './playground.ts'
import { runBenchmark } from './run-benchmark.ts'

const MAX_FIRST_LOAD_BYTES = 120_000
const MAX_INTERACTION_MS = 100
const MAX_IDLE_SHARE = 0.01
const MAX_FIRST_TOKEN_MS = 20

/** Runs the benchmarks of the console in a browser. Returns the lines of their section. */
export async function measureConsole(): Promise<string[]> {
  const { results: page } = await runBenchmark<{ results: ConsolePageResults }>('console-page')
  const { results: chat } = await runBenchmark<{ results: PlaygroundResults }>('playground')
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
  const count = new Intl.NumberFormat('en-US').format(page.tasks)
  const rows: readonly (readonly [what: string, measured: string, goal: string, isReached: boolean | null])[] = [
    [
      'first load of the overview, compressed',
      `${(page.first_load_bytes / 1_000).toFixed(0)} kB`,
      '≤ 120 kB',
      page.first_load_bytes <= MAX_FIRST_LOAD_BYTES
    ],
    [`from opening the page to the first of ${count} tasks`, `${page.first_list_ms.toFixed(0)} ms`, '', null],
    [
      `from a key press to the next paint while 100 of ${count} tasks change per second, p95`,
      `${page.interaction_p95_ms.toFixed(0)} ms`,
      '≤ 100 ms',
      page.interaction_p95_ms <= MAX_INTERACTION_MS
    ],
    [
      `frames over 50 ms meanwhile (longest ${page.longest_frame_ms.toFixed(0)} ms)`,
      String(page.long_frames),
      '0',
      page.long_frames === 0
    ],
    [
      'server and tab meanwhile, of one core',
      `${percent(page.changing_server_share)}, ${percent(page.changing_tab_share)}`,
      '',
      null
    ],
    [
      'server with an idle page, of one core',
      percent(page.idle_server_share),
      '< 1 %',
      page.idle_server_share < MAX_IDLE_SHARE
    ],
    ['idle tab, of one core', percent(page.idle_tab_share), '< 1 %', page.idle_tab_share < MAX_IDLE_SHARE],
    [
      'first token in the playground, from the key press to the text, over the OpenAI route',
      `${chat.playground_over_openai_ms.toFixed(1)} ms`,
      '≤ 20 ms',
      chat.playground_over_openai_ms <= MAX_FIRST_TOKEN_MS
    ]
  ]
  return [
    '',
    'Measured in Chromium on the same two cores as the server (`bench/console-page.ts`, `bench/playground.ts`). A key press',
    'counts as 16 ms if it is shorter, which is the resolution of the browser.',
    '',
    '| what | measured | goal | |',
    '|---|---|---|---|',
    ...rows.map(
      ([what, measured, goal, isReached]) =>
        `| ${what} | ${measured} | ${goal} | ${isReached === null ? '' : isReached ? 'reached' : 'missed'} |`
    )
  ]
}
