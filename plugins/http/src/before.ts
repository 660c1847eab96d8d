/** What the work comes to, or undefined when it takes longer than the time. Its rejection is passed on if it comes first. */
export async function before<A>(milliseconds: number, work: A | Promise<A>): Promise<A | undefined> {
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
