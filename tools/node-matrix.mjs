// Runs the tests of the folder that one is in with several versions of Node.js, which npm fetches:
//   npm run test:matrix -- [--node 20.20.2,24,26] [--clone] [--json] [--cache DIR] [FILE …]
//
// Each version runs `npm test`, with the build that it contains. A version without its last numbers is the newest of
// that line; the path of a binary is possible, too. --clone runs each version in a clean clone of the last commit, after
// `npm ci`. The output of the tests goes to stderr and to a log per version, the table, or JSON, to stdout. Exits with 1
// if a run fails.
import { spawn, spawnSync } from 'node:child_process'
import { createWriteStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { nodeBinary } from './node-matrix/node-binary.mjs'
import { tapResults } from './node-matrix/tap-results.mjs'

const { values, positionals } = parseArgs({
  options: {
    node: { type: 'string', default: '20.20.2,24,26' },
    clone: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    cache: { type: 'string', default: 'node_modules/.cache/node-matrix' }
  },
  allowPositionals: true
})

const cache = resolve(values.cache)
let running
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    stopped = true
    running?.kill(signal)
  })

try {
  mkdirSync(cache, { recursive: true })
  // All are fetched first, so that a version that does not exist is found before an hour of tests.
  const binaries = values.node.split(',').map(spec => nodeBinary(spec.trim(), cache))
  const runs = []
  for (const binary of binaries) if (!stopped) runs.push(await runTests(binary))
  const { platform, arch } = process
  process.stdout.write(values.json ? `${JSON.stringify({ platform, arch, runs }, null, 2)}\n` : table(runs))
  process.exitCode = stopped ? 130 : runs.every(run => run.exit_code === 0 && run.passed !== null) ? 0 : 1
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

/** Runs the tests with this binary, in the current folder or in a clone of it. */
async function runTests(binary) {
  const env = environmentOf(binary)
  const node = nodeVersion(env)
  const log = join(cache, `${node}.log`)
  const clone = values.clone ? mkdtempSync(join(tmpdir(), 'svc-node-matrix-')) : null
  const begun = performance.now()
  process.stderr.write(`\nNode.js ${node}, output also in ${log}\n`)
  try {
    const cwd = clone ?? process.cwd()
    const output = createWriteStream(log)
    let code = 0
    if (clone !== null) code = await run('git', ['clone', '--quiet', process.cwd(), clone], { cwd, env, output })
    if (clone !== null && code === 0) code = await runNpm(binary, ['ci'], { cwd, env, output })
    let text = ''
    const test = ['test', ...(positionals.length === 0 ? [] : ['--', ...positionals])]
    if (code === 0) code = await runNpm(binary, test, { cwd, env, output, onText: part => (text += part) })
    await new Promise(ended => output.end(ended))
    const minutes = Math.round((performance.now() - begun) / 6000) / 10
    return { node, ...tapResults(text), minutes, exit_code: code, log }
  } finally {
    if (clone !== null) rmSync(clone, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Returns an environment in which `node` is this binary, without what an outer npm and test runner set. */
function environmentOf(binary) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:NODE$|npm_(?!config_)|_?TAP)/.test(name))
  const path = `${dirname(binary)}${delimiter}${process.env.PATH ?? ''}`
  // Windows writes Path.
  return { ...Object.fromEntries(inherited.filter(([name]) => name.toUpperCase() !== 'PATH')), PATH: path }
}

/** Returns the version of the Node.js that a program in this environment finds. */
function nodeVersion(env) {
  const { status, stdout, error } = spawnSync('node', ['-p', 'process.versions.node'], { env, encoding: 'utf8' })
  if (status === 0) return stdout.trim()
  throw new Error(`node: ${error?.message ?? `ends with status ${status}`}; is this a binary for ${process.platform}?`)
}

/** Runs npm with this Node.js. The npm that runs this script is used, or that of the path. */
function runNpm(binary, argv, options) {
  const cli = process.env.npm_execpath ?? ''
  return cli.endsWith('npm-cli.js')
    ? run(binary, [cli, ...argv], options)
    : run('npm', argv, { ...options, shell: process.platform === 'win32' })
}

/** Runs a program. Returns its exit code. */
function run(program, argv, { cwd, env, output, shell = false, onText }) {
  return new Promise((ended, failed) => {
    const child = spawn(program, argv, { cwd, env, shell, stdio: ['ignore', 'pipe', 'pipe'] })
    running = child
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', text => {
        process.stderr.write(text)
        output.write(text)
        if (stream === child.stdout) onText?.(text)
      })
    child.on('error', failed)
    child.on('close', code => ended(code ?? 1))
  })
}

function table(runs) {
  const rows = runs.map(({ node, passed, failed, skipped, minutes, exit_code: code }) => [
    node,
    ...(passed === null ? [`no summary, status ${code}`, '', ''] : [passed, failed, skipped].map(String)),
    minutes.toFixed(1)
  ])
  const lines = [['Node.js', 'passed', 'failed', 'skipped', 'minutes'], ...rows]
  const widths = lines[0].map((_, at) => Math.max(...lines.map(line => line[at].length)))
  const failures = runs.flatMap(({ node, failures: found }) =>
    found.map(({ file, test }) => `${node}: ${file}: ${test}`)
  )
  const text = lines.map(line =>
    line
      .map((cell, at) => cell.padEnd(widths[at]))
      .join('  ')
      .trimEnd()
  )
  return `${[...text, ...(failures.length === 0 ? [] : ['', ...failures])].join('\n')}\n`
}
