// Runs the tests: each file given as an argument in its own process, or all files, in groups of several files per
// process. A test process needs about a second before its first test, and there are about 1,000 files. A file that
// asserts which modules its process has loaded is named `*.alone.test.ts` and runs in a process by itself.
//
// The groups that take longest start first, so that all cores are busy until the end. test/times.json holds the seconds
// of the long files. `npm test -- --record-times` writes it again after a run that passes.
//
// A group that fails in a run of all files is run once more by itself. If it passes then, the run passes and names the
// group as unstable, which is a defect of its tests. If more groups fail, none is run again.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Seconds of a file that test/times.json does not name, and the shortest that it names. */
const SHORT_S = 1
/** A group ends with the file with which it takes so long. The time limit of tap is that of a process. */
const GROUP_S = 30
// Each file adds its modules and its temporary folders to the process.
const MAX_FILES_PER_PROCESS = 20
/** Groups that run at a time. Most tests wait for other processes half of the time. */
const JOBS = 2 * availableParallelism()
/** Maximum failed groups that are run again. */
const MAX_UNSTABLE = 3
const root = fileURLToPath(new URL('..', import.meta.url))
const groups = join(root, '.tap/groups')
const failed = join(root, '.tap/failed')
/** Written by the test processes: a line for each file. */
const taken = join(root, '.tap/times')
const times = join(root, 'test/times.json')

/** Yields the test files below a folder, sorted, with paths relative to the repository, in which `/` separates folders. */
function* testFiles(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const { name } of entries.filter(entry => entry.name.endsWith('.test.ts')))
    yield relative(root, join(folder, name)).replaceAll(sep, '/')
  for (const entry of entries)
    if (entry.isDirectory() && !/^(?:node_modules|dist|fixtures|\..*)$/.test(entry.name))
      yield* testFiles(join(folder, entry.name))
}

/** Returns the name of the part of the repository whose files share processes: they import the same modules. */
function partOf(path) {
  const folders = path.split('/').slice(0, -1)
  return folders.slice(0, folders[0] === 'test' ? 3 : 2).join('-')
}

/** Splits the files of a part into groups, one for each process. */
function groupsOf(files, secondsOf) {
  const found = []
  let open = { files: [], seconds: 0 }
  for (const file of files) {
    const seconds = secondsOf(file)
    if (file.endsWith('.alone.test.ts') || seconds >= GROUP_S) {
      found.push({ files: [file], seconds })
      continue
    }
    if (open.files.length === 0) found.push(open)
    open.files.push(file)
    open.seconds += seconds
    if (open.seconds >= GROUP_S || open.files.length === MAX_FILES_PER_PROCESS) open = { files: [], seconds: 0 }
  }
  return found
}

/** Writes an entry file for each group and returns their paths, those that take longest first. */
function writeGroups() {
  rmSync(groups, { recursive: true, force: true })
  mkdirSync(groups, { recursive: true })
  const known = existsSync(times) ? JSON.parse(readFileSync(times, 'utf8')) : {}
  const tops = ['test', 'plugins', 'kernel', 'config', 'contracts', 'plugin-sdk', 'editors']
  const files = tops.flatMap(top => [...testFiles(join(root, top))])
  return [...new Set(files.map(partOf))]
    .flatMap(part => {
      const own = files.filter(file => partOf(file) === part)
      return groupsOf(own, file => known[file] ?? SHORT_S).map(group => ({ part, ...group }))
    })
    .sort((a, b) => b.seconds - a.seconds)
    .map(({ part, files }, at) => writeGroup(part, at + 1, files))
}

/** Writes the entry file of a group and returns its path. `paths`: of its tests, relative to the repository. */
function writeGroup(part, number, paths) {
  const path = join(groups, `${String(number).padStart(3, '0')}-${part}.test.mjs`)
  const list = JSON.stringify(paths, null, 2)
  const call = `await runFiles(${list}, ${JSON.stringify(taken)})`
  writeFileSync(path, `import { runFiles } from '../../test/run-files.mjs'\n\n${call}\n`)
  return path
}

/** Writes the seconds of the long files of the last run. */
function recordTimes() {
  const long = readFileSync(taken, 'utf8')
    .split('\n')
    .map(line => line.split(' '))
    .filter(([, seconds]) => Number(seconds) > SHORT_S)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, seconds]) => [path, Math.round(Number(seconds))])
  writeFileSync(times, `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`)
}

/** Runs tap. Returns its exit code. */
function run(...args) {
  const runner = spawn('tap', args, { cwd: root, stdio: 'inherit', shell: true })
  return new Promise(resolve => runner.on('close', code => resolve(code ?? 1)))
}

/** Runs all groups, and those that failed once more, with these options of tap. Returns the exit code. */
async function runAll(options) {
  await rm(failed, { force: true })
  await rm(taken, { force: true })
  await rm(join(root, '.tap/fixtures'), { recursive: true, force: true })
  const files = writeGroups().map(file => relative(root, file))
  const code = await run(`--jobs=${JOBS}`, ...options, `--save=${relative(root, failed)}`, ...files)
  if (code === 0) return 0
  const again = (await readFile(failed, 'utf8')).split('\n').filter(Boolean)
  await rm(failed, { force: true })
  if (again.length === 0 || again.length > MAX_UNSTABLE) return code
  process.stdout.write(`\nrun again, one at a time: ${again.join(', ')}\n\n`)
  if ((await run(...options, '--jobs=1', ...again)) !== 0) return code
  process.stdout.write(`\nunstable, failed at first and passed by themselves: ${again.join(', ')}\n`)
  return 0
}

const RECORD = '--record-times'
const named = process.argv.slice(2).filter(argument => argument !== RECORD)
process.exitCode = named.some(argument => !argument.startsWith('-')) ? await run(...named) : await runAll(named)
if (process.exitCode === 0 && process.argv.includes(RECORD)) recordTimes()
