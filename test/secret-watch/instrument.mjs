// Calls of the watch in the kernel's code: the secrets that it masks, the texts that it has masked, and the outcomes of
// operations. Built programs and those from sources are changed alike, when they are loaded.
const WATCH = "globalThis[Symbol.for('svc.secret-watch')]"

const INSERTIONS = [
  {
    within: /class MaskedSecrets\b|MaskedSecrets ?= ?class\b|addFromInput\(/,
    changes: [
      [/\badd\((secret\d*)(: string)?\)(: void)?\s*\{(?=[^}]{0,200}#secrets)/, `$&${WATCH}?.secret($1);`],
      [/\baddFromInput\((secret\d*)(: string)?\)(: void)?\s*\{/, `$&${WATCH}?.secret($1);`],
      [
        /\bmask\((text\d*)(: string)?\)(: string)?\s*\{(?=[^}]{0,200}#fromInputs)/,
        `mask($1$2)$3{const shown=this.maskUnwatched($1);${WATCH}?.masked(shown);return shown}maskUnwatched($1$2)$3{`
      ]
    ]
  },
  {
    within: /#end\(call/,
    changes: [
      [
        /#end\((call\d*)(: CallState)?, ?(failure\d*)(: unknown)?, ?(output\d*)(\?: unknown)?\)(: void)?\s*\{/,
        `$&${WATCH}?.operation(this.descriptor,$3,$5);`
      ]
    ]
  }
]

/** Returns the source of a module with calls of the watch, or the same source if it has none of their places. */
export function instrumented(source) {
  let text = source
  for (const { within, changes } of INSERTIONS) {
    if (!within.test(text)) continue
    for (const [pattern, replacement] of changes) text = text.replace(pattern, replacement)
  }
  return text
}

/** Whether a module may have places for calls: cheaper than a look at its text. */
export function mayHavePlaces(url) {
  return /\/kernel\/src\/(?:host\/masked-secrets|core\/operations)\.ts|\/test\/.*\.ts/.test(url)
}
