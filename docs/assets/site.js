// Wide tables scroll inside a box that the theme adds later: let the keyboard reach it.
const reachable = () => {
  for (const box of document.querySelectorAll('.md-typeset__scrollwrap:not([tabindex]), math[display="block"]:not([tabindex])')) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
};
new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", reachable);
addEventListener("load", reachable);
