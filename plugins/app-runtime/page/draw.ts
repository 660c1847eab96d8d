import { type ComponentChild, render } from 'preact'
import { STYLE } from './style.ts'

/** Draws a page with its style into a root of the console. Returns the disposer. */
export function draw(root: ShadowRoot | HTMLElement, page: ComponentChild): () => void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  const owner = root instanceof ShadowRoot ? root : document
  owner.adoptedStyleSheets = [...owner.adoptedStyleSheets, sheet]
  render(page, root)
  return () => {
    render(null, root)
    owner.adoptedStyleSheets = owner.adoptedStyleSheets.filter(each => each !== sheet)
  }
}

/** Opens a page of the console on a plain click; other clicks keep the effect of a link. */
export function follow(event: MouseEvent, go: () => void): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
  event.preventDefault()
  go()
}
