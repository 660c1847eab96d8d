import { appendFileSync } from 'node:fs'
import { t } from 'tap'

/** Time for teardowns after the last test. */
const MAX_END_MS = 30_000

/**
 * Runs several test files in this process, one after the other. `paths` are relative to the repository. `times`: file to
 * which a line with the path and the seconds of each is appended.
 */
export async function runFiles(paths, times) {
  // A root test with a teardown ends when no test is left, which is so between two files.
  const { teardown, test } = t
  const actions = []
  const running = []
  t.teardown = action => actions.push(action)
  t.test = (...args) => {
    const ended = test.apply(t, args)
    running.push(ended)
    return ended
  }
  for (const path of paths) {
    t.comment(path)
    const begun = performance.now()
    await import(new URL(`../${path}`, import.meta.url))
    // A file whose tests have ended cannot disturb the next one.
    while (running.length > 0) await Promise.allSettled(running.splice(0))
    appendFileSync(times, `${path} ${((performance.now() - begun) / 1000).toFixed(1)}\n`)
  }
  Object.assign(t, { teardown, test })
  for (const action of actions) t.teardown(action)
  // Without this, a process with a teardown and an open server would not end.
  t.end()
  // A test that timed out may go on, and leave servers.
  setTimeout(() => {
    process.stderr.write(`still open, and ended: ${process.getActiveResourcesInfo().join(', ')}\n`)
    process.exit()
  }, MAX_END_MS).unref()
}
