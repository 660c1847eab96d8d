/** Returns the length of the longest suffix of the text that is a proper prefix of one of the marks. */
export function possibleMark(text: string, marks: readonly string[]): number {
  let longest = 0
  for (const mark of marks) {
    for (let length = Math.min(mark.length - 1, text.length); length > longest; length--) {
      if (mark.startsWith(text.slice(-length))) longest = length
    }
  }
  return longest
}
