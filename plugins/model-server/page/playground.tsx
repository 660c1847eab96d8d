import type { ConsoleApi } from '@svc/contracts'
import { render } from 'preact'
import { Chat } from './playground/chat.tsx'
import { Playground } from './playground/playground-state.ts'
import { STYLE } from './playground/style.ts'

/** Draws the playground into an element of the console. */
export function mount(root: ShadowRoot | HTMLElement, api: ConsoleApi): () => void {
  const playground = new Playground(api)
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  const styled = root instanceof ShadowRoot ? root : document
  styled.adoptedStyleSheets.push(sheet)
  playground.start()
  render(<Chat playground={playground} />, root)
  return () => {
    playground.stop()
    playground.save()
    render(null, root)
    styled.adoptedStyleSheets = styled.adoptedStyleSheets.filter(each => each !== sheet)
  }
}
