/** Length of the longest end of a text that one of the marks begins with, and that is not the whole mark. */
export function possibleMark(text: string, marks: readonly string[]): number {
  let longest = 0
  for (const mark of marks) {
    for (let length = Math.min(mark.length - 1, text.length); length > longest; length--) {
      if (mark.startsWith(text.slice(-length))) longest = length
    }
  }
  return longest
}
