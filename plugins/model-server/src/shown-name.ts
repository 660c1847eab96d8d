const SHOWN_CHARACTERS = 64

/** Returns a client's name in a form that is safe for logs and terminals: shortened, without control characters. */
export function shownName(name: string): string {
  const characters = [...name.slice(0, 2 * SHOWN_CHARACTERS)]
  const cut = characters.slice(0, SHOWN_CHARACTERS).join('')
  const plain = cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, character => {
    const code = character.codePointAt(0) as number
    return `\\u{${code.toString(16)}}`
  })
  return `'${plain}${cut.length < name.length ? '…' : ''}'`
}
