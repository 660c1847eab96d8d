/**
 * Reads the output of a run of tap. Returns its counts, which are null if it ended without a summary, and the tests that
 * failed, at most 200.
 */
export function tapResults(output) {
  // The first summary is that of all tests. A second one is of tests that were run again because they failed.
  const summary = /^# \{ total: \d+.*\}$/m.exec(output)?.[0]
  const count = name =>
    summary === undefined ? null : Number(new RegExp(`\\b${name}: (\\d+)`).exec(summary)?.[1] ?? 0)
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip'), failures: failures(output) }
}

function failures(output) {
  const found = []
  let file = ''
  // A test is reported after its assertions. The outermost line of a file repeats that something in it failed.
  for (const line of output.split('\n')) {
    file = /^\s*# (?:Subtest: )?(\S+\.test\.m?[jt]s)$/.exec(line)?.[1] ?? file
    const test = /^ {4}not ok \d+ - (.*?)(?: # time=.*)?(?: \{)?$/.exec(line)?.[1]
    if (test !== undefined && found.length < 200) found.push({ file, test })
  }
  return found
}
