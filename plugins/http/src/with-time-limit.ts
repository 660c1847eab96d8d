/** Resolves to the result of the work, or to undefined after the time limit. Rejects if the work rejects earlier. */
export async function withTimeLimit<A>(milliseconds: number, work: A | Promise<A>): Promise<A | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, milliseconds, undefined)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
