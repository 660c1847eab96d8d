// Removes the folders of `t.testdir()` when the test process ends. tap removes them before the teardown functions of the
// test run, which fails, and skips these functions, while a child process of the test still writes there.
import { readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'

process.env.TAP_SAVE_FIXTURE = '1'

const folder = join(process.cwd(), '.tap/fixtures')
// As tap names them: after the test file and its arguments.
const own = [relative(process.cwd(), process.argv[1] ?? ''), ...process.argv.slice(2)]
  .join(' ')
  .trim()
  .replace(/[^\w.-]+/g, '-')

process.on('exit', () => {
  try {
    for (const name of readdirSync(folder))
      if (name === own || name.startsWith(`${own}-`))
        rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  } catch {
    // A process that a test left behind still writes there. The next run empties the folder.
  }
})
