import { t } from 'tap'

/** Runs several test files in this process, in order. `paths` are relative to the repository. */
export async function runFiles(paths) {
  // A root test with a teardown ends when no test is left, which can happen between two imports.
  const { teardown } = t
  const actions = []
  t.teardown = action => actions.push(action)
  for (const path of paths) {
    t.comment(path)
    await import(new URL(`../${path}`, import.meta.url))
  }
  t.teardown = teardown
  for (const action of actions) t.teardown(action)
}
