/** Names that are elements if they are called with named arguments. Includes HTML and SVG elements. */
const PRIMITIVES =
  'stack column row wrap text heading link image button panel card list list_item route_outlet overlay toast drawer modal'

const MARKUP =
  'input label textarea select option form fieldset legend table thead tbody tfoot tr th td caption audio video source ' +
  'track canvas svg img span br hr i b em strong small code pre kbd abbr cite blockquote q head meta title link script ' +
  'style noscript main section article aside header footer nav details summary dialog figure figcaption iframe embed ' +
  'object param g defs path circle rect ellipse line polyline polygon text tspan use symbol marker mask pattern stop ' +
  'filter radial_gradient linear_gradient clip_path foreign_object fe_gaussian_blur'

const tags: ReadonlySet<string> = new Set(`${PRIMITIVES} ${MARKUP}`.split(' '))

/** True if a call of that name may be an element of a view: a component, a primitive or a tag. */
export function isViewTag(name: string): boolean {
  const first = name.charCodeAt(0)
  return (first >= 65 && first <= 90) || tags.has(name)
}
