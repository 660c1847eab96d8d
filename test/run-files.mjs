import { appendFileSync } from 'node:fs'
import { t } from 'tap'

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
    // While the tests of the last file run, so that the root test ends with them, and then closes what files left open.
    if (path === paths.at(-1)) {
      t.teardown = teardown
      for (const action of actions) t.teardown(action)
    }
    // A file whose tests have ended cannot disturb the next one.
    while (running.length > 0) await Promise.allSettled(running.splice(0))
    appendFileSync(times, `${path} ${((performance.now() - begun) / 1000).toFixed(1)}\n`)
  }
}
