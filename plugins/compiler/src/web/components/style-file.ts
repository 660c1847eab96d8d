import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { cssProperty } from '../../web-ir/styles.ts'
import type { WebComponent } from '../../web-ir/tree.ts'

/** Generates `<Component>.css` with the rules of the component's `style`; null if it has none. */
export function styleFile({ name, styles }: WebComponent): EmittedFile | null {
  if (styles.length === 0) return null
  const blocks = styles.map(({ className, declarations }) => {
    const lines = declarations.map(([property, value]) => `  ${cssProperty(property)}: ${cssValue(value)};\n`)
    return `.${className} {\n${lines.join('')}}\n`
  })
  return { path: `${name}.css`, text: blocks.join('\n') }
}

/** Escapes a value, so that it cannot end its declaration or rule. */
function cssValue(value: string): string {
  return value.replace(/[\r\n]+/g, ' ').replace(/[;{}]/g, sign => `\\${sign.charCodeAt(0).toString(16)} `)
}
