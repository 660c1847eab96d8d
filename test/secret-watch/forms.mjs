// The texts in which a secret may appear: as it is, in JSON, in an address, in Base64.

/** Returns the forms of a secret, in bytes, by name. */
export function formsOf(secret) {
  const bytes = Buffer.from(secret)
  const text = bytes.toString('utf8')
  const forms = new Map([['plain', bytes]])
  const add = (name, form) => {
    const formBytes = Buffer.from(form)
    if (formBytes.length > 0 && ![...forms.values()].some(each => each.equals(formBytes))) forms.set(name, formBytes)
  }
  if (Buffer.from(text).equals(bytes)) {
    add('JSON', inJson(text))
    add('JSON in JSON', inJson(inJson(text)))
    add('percent-encoded', encoded(text, encodeURIComponent))
    add('form-encoded', new URLSearchParams([['', text]]).toString().slice(1))
  }
  for (const [offset, form] of base64Forms(bytes).entries()) add(`Base64 ${offset}`, form)
  return forms
}

function inJson(text) {
  return JSON.stringify(text).slice(1, -1)
}

function encoded(text, encode) {
  try {
    return encode(text)
  } catch {
    // A lone surrogate has no such form.
    return ''
  }
}

/**
 * Returns the Base64 of bytes at each offset within a group of three, such as in `user:password`, without the characters
 * that also contain bits of what is before or after.
 */
function base64Forms(bytes) {
  return ['base64', 'base64url'].flatMap(encoding =>
    [0, 1, 2].map(offset => {
      const [first, end] = [Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6)]
      return Buffer.concat([Buffer.alloc(offset), bytes])
        .toString(encoding)
        .slice(first, end)
    })
  )
}
