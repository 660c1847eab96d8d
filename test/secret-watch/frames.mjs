// Origin of the running code: the product, a test, or a library.
const MAX_FRAMES = 40
/** The bundle of the watch. */
const OWN = /\/svc-secret-watch\/secret-watch\.cjs$/
const LIBRARY = /^node:|\/node_modules\/|^$/
const TEST = /\/test\/|\/src\/testing\/|\/bench\/|\.test\.m?[jt]s/

/** Returns the files of the stack, innermost first, across awaits. */
function files() {
  const { prepareStackTrace, stackTraceLimit } = Error
  // Raw frames: mapping them to sources takes milliseconds.
  Error.prepareStackTrace = (_, sites) => sites.map(site => site.getFileName() ?? '')
  Error.stackTraceLimit = MAX_FRAMES
  try {
    return new Error().stack
  } finally {
    Error.prepareStackTrace = prepareStackTrace
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Returns the innermost file that is neither Node's nor a library's, relative to the repository; '' without one. */
export function caller(root) {
  const found = files().find(file => !OWN.test(file) && !LIBRARY.test(file)) ?? ''
  return found.replace(/^file:\/\//, '').replace(root, '')
}

/** Returns the innermost file that is not Node's: a library's, too. */
export function nearest() {
  return files().find(file => !OWN.test(file) && !file.startsWith('node:') && file !== '') ?? ''
}

/** Returns whether a file belongs to the tests. A bundled child process has only one file, that of its script. */
export function isTestFile(file) {
  const program = process.argv[1] ?? ''
  return TEST.test(`/${file}`) && (/\.test\.m?[jt]s$/.test(program) || !program.endsWith(file))
}
