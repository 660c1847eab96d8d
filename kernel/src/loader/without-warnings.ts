/** Calls a function while the process shows no warnings, such as those of Node that a feature is experimental. */
export function withoutWarnings<Result>(call: () => Result): Result {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return call()
  } finally {
    process.emitWarning = emitWarning
  }
}
