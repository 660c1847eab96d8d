// Runs the tests: each file given as an argument in its own process, or all files, in groups of a few files per
// process. A test process needs about a second before its first test, and there are about 500 files. A file that
// asserts which modules its process has loaded is named `*.alone.test.ts` and runs in a process by itself.
//
// A group that fails in a run of all files is run once more by itself. If it passes then, the run passes and names the
// group as unstable, which is a defect of its tests. If more groups fail, none is run again.
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// System tests are long and wait for other processes. Small groups keep all cores busy until the end. Tests in a browser
// are the longest, and the time limit of tap is that of a process.
const MAX_SYSTEM_FILES_PER_PROCESS = 2
const MAX_BROWSER_FILES_PER_PROCESS = 1
const MAX_FILES_PER_PROCESS = 10
/** Maximum failed groups that are run again. */
const MAX_UNSTABLE = 3
const root = fileURLToPath(new URL('..', import.meta.url))
const groups = join(root, '.tap/groups')
const failed = join(root, '.tap/failed')

/** Yields the folders below `folder` that contain test files, with the sorted names of the files. */
function* testFolders(folder) {
  const entries = readdirSync(folder, { withFileTypes: true })
  const files = entries.filter(entry => entry.name.endsWith('.test.ts')).map(entry => entry.name)
  if (files.length > 0) yield { folder, files: files.sort() }
  for (const entry of entries)
    if (entry.isDirectory() && !/^(?:node_modules|dist|fixtures|\..*)$/.test(entry.name))
      yield* testFolders(join(folder, entry.name))
}

/** Splits the files of a folder into groups, one for each process. */
function groupsOf(files, size) {
  const alone = files.filter(file => file.endsWith('.alone.test.ts'))
  const together = files.filter(file => !alone.includes(file))
  const count = Math.ceil(together.length / size)
  return [
    ...alone.map(file => [file]),
    ...Array.from({ length: count }, (_, at) => together.slice(at * size, (at + 1) * size))
  ]
}

/** Maximum files of a process for the tests of a folder. */
function sizeOf(name) {
  if (name === 'test-e2e-console') return MAX_BROWSER_FILES_PER_PROCESS
  return name.startsWith('test-') ? MAX_SYSTEM_FILES_PER_PROCESS : MAX_FILES_PER_PROCESS
}

/** Writes an entry file for each group and returns their paths. System tests, which take longest, come first. */
function writeGroups() {
  rmSync(groups, { recursive: true, force: true })
  mkdirSync(groups, { recursive: true })
  const written = []
  for (const top of ['test', 'plugins', 'kernel', 'config', 'contracts', 'plugin-sdk', 'editors']) {
    for (const { folder, files } of testFolders(join(root, top))) {
      const name = relative(root, folder).replaceAll(/\W+/g, '-')
      const paths = groupsOf(files, sizeOf(name)).map(group => group.map(file => relative(root, join(folder, file))))
      written.push(...paths.map((group, at) => writeGroup(name, written.length + at + 1, group)))
    }
  }
  return written
}

/** Writes the entry file of a group and returns its path. `paths`: of its tests, relative to the repository. */
function writeGroup(name, number, paths) {
  const path = join(groups, `${String(number).padStart(3, '0')}-${name}.test.mjs`)
  const list = JSON.stringify(paths, null, 2)
  writeFileSync(path, `import { runFiles } from '../../test/run-files.mjs'\n\nawait runFiles(${list})\n`)
  return path
}

/** Runs tap. Returns its exit code. */
function run(...args) {
  const runner = spawn('tap', args, { cwd: root, stdio: 'inherit', shell: true })
  return new Promise(resolve => runner.on('close', code => resolve(code ?? 1)))
}

/** Runs all groups, and those that failed once more, with these options of tap. Returns the exit code. */
async function runAll(options) {
  await rm(failed, { force: true })
  await rm(join(root, '.tap/fixtures'), { recursive: true, force: true })
  const files = writeGroups().map(file => relative(root, file))
  const code = await run(...options, `--save=${relative(root, failed)}`, ...files)
  if (code === 0) return 0
  const again = (await readFile(failed, 'utf8')).split('\n').filter(Boolean)
  await rm(failed, { force: true })
  if (again.length === 0 || again.length > MAX_UNSTABLE) return code
  process.stdout.write(`\nrun again, one at a time: ${again.join(', ')}\n\n`)
  if ((await run(...options, '--jobs=1', ...again)) !== 0) return code
  process.stdout.write(`\nunstable, failed at first and passed by themselves: ${again.join(', ')}\n`)
  return 0
}

const named = process.argv.slice(2)
process.exitCode = named.some(argument => !argument.startsWith('-')) ? await run(...named) : await runAll(named)
