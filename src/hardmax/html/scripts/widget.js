// The module of the notebook widget: the playground in a frame, and its link kept equal to the one in Python.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "hardmax playground";
  frame.style.cssText = "width: 100%; border: 1px solid #8884; border-radius: 8px;";
  frame.style.height = `${model.get("height")}px`;
  frame.srcdoc = model.get("page");
  el.append(frame);
  const inside = () => frame.contentWindow;
  let told = "";
  const timer = setInterval(() => {
    const link = inside()?.hardmaxLink?.();
    if (!link || link === told) return;
    told = link;
    model.set("link", link);
    model.save_changes();
  }, 400);
  const follow = () => {
    const link = model.get("link");
    if (link === told) return;
    told = link;
    inside()?.hardmaxApp?.readAddress(`#${link}`);
  };
  model.on("change:link", follow);
  return () => {
    clearInterval(timer);
    model.off("change:link", follow);
  };
}
export default { render };
