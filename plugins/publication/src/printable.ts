/** Returns a text of strangers without characters that control the terminal or change the direction of text. */
export function printable(text: string): string {
  return text.replaceAll(/(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu, '\ufffd')
}

/** Like {@link printable}, as one line. */
export function oneLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ')
}
